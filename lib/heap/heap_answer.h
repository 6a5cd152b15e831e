/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What our code in a process asks of us, as it makes no system call itself: how far its threads'
 * stacks can be read, where memory can be written to, and which threads have ended.
 */
#ifndef PROFC_HEAP_HEAP_ANSWER_H
#define PROFC_HEAP_HEAP_ANSWER_H

#include <stdint.h>
#include <sys/types.h>

struct backings;
struct target_memory;
struct heap_ring;

/* A process that writes there, too, by the id that it has for itself; 0: none that may be read. */
struct heap_members {
	pid_t (*find)(void *context, pid_t own_pid);
	void *context;
	struct backings *backings; /* borrowed; or NULL */
};

/*
 * Answer what was asked since the last time, of a process whose memory this is: a bounded number of
 * questions at once. The target is not stopped.
 */
void heap_answer(struct heap_ring *ring, pid_t owner, const struct heap_members *members,
		 uint64_t now_ns);

/*
 * Call this before the first answer: it writes the mark by which a process, or a child that it has
 * forked, is known to have this memory.
 */
void heap_answer_begin(struct heap_ring *ring, struct target_memory *memory);
/* Where a process may write, and where the stack of its main thread is, as far as its maps show. */
void heap_answer_maps(const struct heap_ring *ring, pid_t pid, struct target_memory *memory);
/* Tell where threads keep their ids in their data, and where the main thread has its data; or 0. */
void heap_answer_ids(const struct heap_ring *ring, struct target_memory *memory, uint32_t tid_at,
		     uint64_t main_data);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers the questions of the blob, which makes no system call itself: how far the stacks of its
 * threads can be read, where memory is writable, and which threads have ended.
 */
#ifndef PROFC_HEAP_HEAP_ANSWER_H
#define PROFC_HEAP_HEAP_ANSWER_H

#include <stdint.h>
#include <sys/types.h>

struct backings;
struct frame_links;
struct target_memory;
struct heap_ring;

/*
 * Finds a process that shares the memory, by its id in its PID namespace; 0: none that may be read.
 */
struct heap_members {
	pid_t (*find)(void *context, pid_t own_pid);
	void *context;
	struct backings *backings; /* borrowed; or NULL */
};

/*
 * Answer a bounded number of questions that are new since the last call. `owner` is the process
 * that the memory was made for. The target is not stopped.
 */
void heap_answer(struct heap_ring *ring, pid_t owner, const struct heap_members *members,
		 uint64_t now_ns);

/*
 * Call this before the first answer, and before any probe leads to the blob. It writes the mark
 * that shows that a process has this memory, which forked children inherit, and what
 * heap_answer_maps() does.
 */
void heap_answer_begin(struct heap_ring *ring, struct target_memory *memory);
/* Write the ranges that a process may write to, and its main stack, from its maps. */
void heap_answer_maps(const struct heap_ring *ring, struct target_memory *memory);
/*
 * Write the offset of ids in the data of threads, and the address of the main thread's data; 0: not
 * known.
 */
void heap_answer_ids(const struct heap_ring *ring, struct target_memory *memory, int32_t tid_at,
		     uint64_t main_data);

/*
 * Write how the interpreter's frames are linked in a process that has this memory, which may be a
 * forked child: its copies of stacks then have those frames.
 */
void heap_answer_links(const struct heap_ring *ring, pid_t pid, const struct heap_members *members,
		       const struct frame_links *links);

#endif

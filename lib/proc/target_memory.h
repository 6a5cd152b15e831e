/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and writes the memory of another process, and waits for no other program. */
#ifndef PROFC_PROC_TARGET_MEMORY_H
#define PROFC_PROC_TARGET_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct backings;
struct target_memory;

/*
 * Memory may show a file that a program serves (FUSE), which need never answer: whoever touches a
 * page of it that is not there waits, and cannot be killed. So all reads and writes go through
 * here, but for copies of stacks (tracee/stack_copy.c), which ask the same of each mapping. Pages
 * that are there are read at once; those that a program has to bring, by an errand (base/errand.h),
 * which has a second; a file system that has not answered is not asked again.
 *
 * A program that replaces its mappings at just the wrong moment can still make us wait.
 */

/*
 * Opens the memory of the program that the thread's process runs now; if it executes another one,
 * the former memory stays. `backings` is borrowed, and says which file systems are known; NULL: it
 * has its own. NULL with errno if that is not allowed, or the process is gone.
 */
struct target_memory *target_memory_open(pid_t tid, struct backings *backings);
void target_memory_close(struct target_memory *memory);
/* A descriptor on /proc/PID/maps of the same program, for proc/range.h; negative: there is none. */
int target_memory_maps(const struct target_memory *memory);
/*
 * The stack pointer at the start of the program, which is read once: of the next program, if that
 * is executed before. 0: not known.
 */
uint64_t target_memory_first_sp(struct target_memory *memory);

/* Returns how many bytes there are from there on: up to the first that is not mapped or not
 * brought. */
size_t target_memory_read(struct target_memory *memory, uint64_t address, void *out,
			  size_t nr_bytes);
/*
 * As above, of a process that is stopped: up to the first that a program would have to bring, or
 * that the process itself may not read.
 */
size_t target_memory_read_at_once(struct target_memory *memory, uint64_t address, void *out,
				  size_t nr_bytes);
/* A piece of memory to be read into `out`. */
struct memory_piece {
	uint64_t address;
	void *out;
	size_t nr_bytes;
	bool is_read; /* afterwards: all of it was */
};

/* Read several pieces, most of them by one system call. */
void target_memory_read_pieces(struct target_memory *memory, struct memory_piece *pieces,
			       size_t nr);
/* All of them, or false. */
bool target_memory_get(struct target_memory *memory, uint64_t address, void *out, size_t nr_bytes);
/*
 * All of them, or false: then some may have been written. Never into a file that a program serves
 * and others share.
 */
bool target_memory_put(struct target_memory *memory, uint64_t address, const void *bytes,
		       size_t nr_bytes);
/*
 * As above where they were read shortly before. What the kernel has dropped since it brings again
 * itself, unless a program serves it.
 */
bool target_memory_put_soon(struct target_memory *memory, uint64_t address, const void *bytes,
			    size_t nr_bytes);
/* As above where no thread of the process has run since they were read: so they are there. */
bool target_memory_put_read(struct target_memory *memory, uint64_t address, const void *bytes,
			    size_t nr_bytes);
/* Can all of these be touched without a wait, if they are mapped? */
bool target_memory_is_ready(struct target_memory *memory, uint64_t address, size_t nr_bytes);
/* Eight bytes; false: they are not mapped. */
bool target_memory_word(struct target_memory *memory, uint64_t address, uint64_t *word);
/* Of a process whose memory is not open. */
bool target_memory_get_once(pid_t tid, uint64_t address, void *out, size_t nr_bytes);

static inline void target_memory_cleanup(struct target_memory **memory)
{
	target_memory_close(*memory);
}
/* Scope guard: `cleanup_target_memory struct target_memory *memory = NULL;` */
#define cleanup_target_memory __attribute__((cleanup(target_memory_cleanup)))

#endif

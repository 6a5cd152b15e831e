/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_PATCHED_LOOK_H
#define PROFC_INJECT_PATCHED_LOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct target_memory;
struct patched;

/*
 * Look at all patches of a process, which may run, and write one byte for each to `states`.
 * *is_writable: the process may write to such a place at this moment. Reads its maps once, and each
 * page with patches once. False: it has ended, and nothing is known.
 */
bool patched_look(const struct patched *patched, pid_t pid, struct target_memory *memory,
		  uint8_t *states, bool *is_writable);
/* The same while the process is stopped, which is quicker. */
bool patched_look_stopped(const struct patched *patched, pid_t pid, struct target_memory *memory,
			  uint8_t *states, bool *is_writable);

/* Has the process a copy of its own of this page, which is no longer the file's? */
bool page_is_written(pid_t pid, uint64_t address);

#endif

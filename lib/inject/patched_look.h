/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_PATCHED_LOOK_H
#define PROFC_INJECT_PATCHED_LOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct target_memory;
struct patched;

/*
 * Look at all patches of a process, which may run: *states, of which there are as many, are written
 * as bytes. *is_writable: the process may write there at this moment. One read of its maps, and of
 * each page with patches. False: it has ended, and nothing is known.
 */
bool patched_look(const struct patched *patched, pid_t pid, struct target_memory *memory,
		  uint8_t *states, bool *is_writable);

/* Is a page of a private mapping the process' own by now, and not its file's any more? */
bool page_is_written(pid_t pid, uint64_t address);

#endif

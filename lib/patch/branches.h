/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PATCH_BRANCHES_H
#define PROFC_PATCH_BRANCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where the direct jumps, branches and calls of some code lead, as far as that is near the start of
 * a function: whoever overwrites the first bytes of one must know. Jumps through tables are not
 * seen; compilers make none that lead into the first bytes.
 */
struct branches;

/*
 * Addresses of the first instructions of all functions that are known there, in any order, copied.
 * They keep the sweep in step behind data, and each counts as led to. Freed with branches_free().
 */
struct branches *branches_new(const uint64_t *starts, size_t nr_starts);
void branches_free(struct branches *branches);

/* Note all of nr_bytes of code that stand at `address`, read from front to end; a part at a time
 * may be added, but no function in two. */
void branches_add_code(struct branches *branches, uint64_t address, const uint8_t *bytes,
		       size_t nr_bytes);
/* Note one. Nothing is kept of what leads elsewhere than near a start. */
void branches_add(struct branches *branches, uint64_t source, uint64_t target, bool is_call);
/* After the last was added, and before anything is asked. */
void branches_sort(struct branches *branches);

/* Is there one that leads strictly between the two addresses, or a function that starts there? */
bool branches_lead_into(const struct branches *branches, uint64_t from, uint64_t to);
/* Is there a jump, not a call, in [start, end) that leads to `target`? */
bool branches_loop_to(const struct branches *branches, uint64_t target, uint64_t start,
		      uint64_t end);
/* The first start behind the address; UINT64_MAX: none. */
uint64_t branches_next_start(const struct branches *branches, uint64_t address);

#endif

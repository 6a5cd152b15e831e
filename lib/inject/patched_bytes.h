/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_INJECT_PATCHED_BYTES_H
#define PROFC_INJECT_PATCHED_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct patch_table;
struct target_memory;

/*
 * The bytes of a process at its patches, one patch after the other: pages in a row that have a
 * patch each are read at once.
 */
struct patched_bytes;

/* Borrows all; the patches are by address. `is_stopped`: the process is, which is quicker. */
struct patched_bytes *patched_bytes_new(const struct patch_table *patches,
					struct target_memory *memory, bool is_stopped);
void patched_bytes_free(struct patched_bytes *bytes);

/*
 * The bytes at a patch, valid up to the next call; as old as the call for the first patch of some
 * pages. NULL: they cannot be read.
 */
const uint8_t *patched_bytes_at(struct patched_bytes *bytes, size_t index);
/*
 * The same, and all bytes up to so many from there on, which are at most up to the end of another
 * patch that begins in the same page.
 */
const uint8_t *patched_bytes_run(struct patched_bytes *bytes, size_t index, size_t nr_bytes);
/* Drops the bytes: the next call reads them again, as a thread may have changed them. */
void patched_bytes_forget(struct patched_bytes *bytes);
/*
 * After patched_bytes_at(): is the patch reached, by the bytes in front of it? If these cannot be
 * read, it is.
 */
bool patched_bytes_lead_to(struct patched_bytes *bytes, size_t index);

#endif

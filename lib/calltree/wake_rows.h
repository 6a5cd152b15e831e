/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the noted end of a wait. */
#ifndef PROFC_CALLTREE_WAKE_ROWS_H
#define PROFC_CALLTREE_WAKE_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct profile;
struct profile_wake;
struct sample;

/* The rows of profile.wakes by thread, then by time. Borrows the profile. */
struct wake_rows {
	const struct profile *profile;
	uint32_t *at;  /* owned, as all here: rows */
	size_t *first; /* by thread; one more, for the end */
	/* By place in `at`: the begin, after the end of the one before, as a thread waits once. */
	uint64_t *from_ns;
};

void wake_rows_init(struct wake_rows *rows, const struct profile *profile);
void wake_rows_release(struct wake_rows *rows);

/* The noted wait of a thread that has the largest part of a time; at a moment: its wait; or NULL.
 */
const struct profile_wake *wake_rows_find(const struct wake_rows *rows, uint32_t thread,
					  uint64_t from_ns, uint64_t to_ns);
/* That of the sleep for memory that a sample shows: of most of the time, if it stands for one. */
const struct profile_wake *wake_rows_of(const struct wake_rows *rows, const struct sample *sample);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers as people read them: times, counts, sizes and percentages, each in one style. */
#ifndef PROFC_VIEW_NUMBER_H
#define PROFC_VIEW_NUMBER_H

#include <stdint.h>

#include "profile/profile.h"
#include "view/style.h"

struct buf;

/* The unit of a column: one for a whole table, so that its numbers compare at a glance. */
struct unit {
	const char *name; /* "s", "ms", "µs", or "" for counts */
	uint64_t divisor; /* ns or bytes in one of it; 1 for counts */
	int decimals;
};

/* The unit in which `largest` reads best: three to five digits. */
struct unit unit_for(enum metric metric, uint64_t largest);
/* For times, the unit that the user chose; otherwise as unit_for(). */
struct unit unit_chosen(enum time_unit wanted, enum metric metric, uint64_t largest);
/* The unit of one time by itself, which gets three significant digits. */
struct unit unit_of_time(enum time_unit wanted, double ns);
/* A time in such a unit, without its name. */
void append_time(struct buf *out, double ns, const struct unit *unit);
/* The number alone, without its unit. */
void append_in_unit(struct buf *out, uint64_t value, const struct unit *unit);

/* A weight by itself, with its unit: "2.41 s", "1,204 samples", "1.21 MiB", "12 blocks". */
void append_weight(struct buf *out, enum metric metric, uint64_t weight);
/* "1,204" */
void append_count(struct buf *out, uint64_t count);
/* The rate per second: "1,204", and below ten "3.2". */
void append_rate(struct buf *out, uint64_t count, uint64_t duration_ns);
/* "54.4 kB" (1 kB is 1000 bytes), "812 bytes". */
void append_bytes(struct buf *out, uint64_t nr_bytes);
/* Sizes in memory, three digits: "1.21 MiB" (1 MiB is 1048576 bytes), "812 bytes". */
void append_memory(struct buf *out, uint64_t nr_bytes);
/* "33.7"; a share above 0 that rounds to 0 is "<0.1". */
void append_percent(struct buf *out, double percent);

#endif

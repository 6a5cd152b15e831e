/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An excerpt that is being made. */
#ifndef PROFC_PROFILE_EXCERPT_PRIV_H
#define PROFC_PROFILE_EXCERPT_PRIV_H

#include <stdbool.h>

#include "profile/excerpt.h"
#include "profile/renumber.h"

#define EXCERPT_UNUSED UINT32_MAX

/* Rows of the recording that the excerpt needs have another number than EXCERPT_UNUSED. */
struct making {
	const struct profile *from;
	const struct excerpt *what;
	struct profile *into;
	struct renumbering map;
};

static inline void excerpt_use(struct making *making, enum record_type type, uint32_t row)
{
	making->map.rows[type][row] = 0;
}

static inline bool excerpt_has(const struct making *making, enum record_type type, uint32_t row)
{
	return making->map.rows[type][row] != EXCERPT_UNUSED;
}

/* excerpt_heap.c: use the threads and stacks of its blocks; and take these, and their moments. */
void excerpt_use_heap(struct making *making);
void excerpt_take_heap(struct making *making);
/*
 * excerpt_spans.c: use the threads and processes of its timed calls, then the code of those
 * processes; and take these calls.
 */
void excerpt_use_calls(struct making *making);
void excerpt_use_timed_code(struct making *making);
void excerpt_take_spans(struct making *making);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of this room share about flat tables. */
#ifndef PROFC_CALLTREE_FLAT_PRIV_H
#define PROFC_CALLTREE_FLAT_PRIV_H

#include "calltree/flat.h"

/* A row that stands for nothing yet. */
extern const struct flat_row flat_no_row;

uint32_t flat_append_row(struct flat *flat, const struct flat_row *row);

/* Fill a table of a dimension of code: rows are levels of stacks. */
void flat_count_code(struct flat *flat);
/* Fill a table of the others: rows are facts of the samples themselves. */
void flat_count_samples(struct flat *flat);

/* The self weight of the rows of a table that has wait functions, by these. */
struct wait_sums;

struct wait_sums *wait_sums_new(const struct flat *flat);
/* To the row of the self weight of a stack. FLAT_NONE: to none. */
void wait_sums_add(struct wait_sums *sums, uint32_t row, struct stack_id stack, uint64_t weight);
/* Tell the rows, and free the sums. */
void wait_sums_finish(struct wait_sums *sums, struct flat *flat);

/* The standard order: lifetimes, self, then total, downwards, then by what identifies the rows. */
void flat_sort_standard(struct flat *flat);

#endif

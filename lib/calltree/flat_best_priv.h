/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first rows of each group of a table by two keys. */
#ifndef PROFC_CALLTREE_FLAT_BEST_PRIV_H
#define PROFC_CALLTREE_FLAT_BEST_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/flat_priv.h"

/*
 * The best rows of one group so far: up to twice the limit, so that each cut removes half of them.
 */
struct best_rows {
	struct flat_row *rows; /* owned */
	size_t nr, cap;
	uint64_t last_self, last_total; /* of the last of the first `limit` rows, once it is cut */
	bool is_cut; /* the first `limit` rows are sorted, and all others come after them */
};

struct flat_best {
	struct flat_order order;
	struct best_rows *groups; /* owned; a single one if there is no limit */
	size_t nr_groups, limit, nr_left_out;
};

/* For groups with numbers below nr_groups. limit 0: all rows are kept. */
void flat_best_init(struct flat_best *best, const struct flat_order *order, size_t nr_groups,
		    size_t limit);
/*
 * Can a row of a group with this self and total be among the best? If not, it is counted as left
 * out. Saves making the row first.
 */
bool flat_best_wants(struct flat_best *best, uint32_t group, uint64_t self, uint64_t total);
/* Add a complete row. */
void flat_best_add(struct flat_best *best, const struct flat_row *row);
/* Move the kept rows to the table, unsorted, and set the number of the others; frees the rest. */
void flat_best_finish(struct flat_best *best, struct flat *flat);

#endif

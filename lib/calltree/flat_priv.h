/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flat tables: functions shared by the files of this room. */
#ifndef PROFC_CALLTREE_FLAT_PRIV_H
#define PROFC_CALLTREE_FLAT_PRIV_H

#include "calltree/flat.h"

struct flat_order;
struct index_set;

/* A row without any identifying member. */
extern const struct flat_row flat_no_row;

uint32_t flat_append_row(struct flat *flat, const struct flat_row *row);
/* The row with the same identifying members; if there is none, it is made from the key. */
uint32_t flat_intern_row(struct flat *flat, struct index_set *rows, const struct flat_row *key);
/* The identifying members of both; where both have one, b's. */
struct flat_row flat_join_keys(const struct flat_row *a, const struct flat_row *b);

/*
 * Set the members that identify the row of a level of code, in a dimension of code. False for
 * levels that have no row in it.
 */
bool flat_code_key(const struct expansion *expansion, const struct dimension_info *info,
		   const struct level *level, struct flat_row *key);

/*
 * Fill a table by its one key or two: rows are levels of stacks, facts of samples and blocks, or
 * what both have in common. Unless `limit` is 0, tables with a key of code have at most the first
 * `limit` rows of each group, in `order`, and count the others as left out.
 */
void flat_count(struct flat *flat, const struct flat_order *order, size_t limit);

/* divide() of struct dimension_info. */
void flat_divide_by_state(struct flat_division *division, const struct observation *observation,
			  struct flat_row *key, uint32_t *state);
void flat_divide_by_phase(struct flat_division *division, const struct observation *observation,
			  struct flat_row *key, uint32_t *phase);

/* Append "file:line", or as much of it as is known. */
void flat_append_file_line(struct buf *out, const struct profile *profile, struct str_id file,
			   uint32_t line);

/*
 * Give the groups of a table the numbers of the rows in `keys` with the same identifying members,
 * and drop groups that have none.
 */
void flat_find_groups(struct flat *groups, struct flat *keys, struct index_set *key_set);

/* The wall time of counted functions that block in their calls, for a table of CPU time. */
struct flat_walls {
	struct tally *called; /* by label; weight 0: it does not block; owned */
	struct tally total;
};

/* By process, the first process of its program. The caller frees the array. */
uint32_t *flat_programs(const struct profile *profile);
/* Divides the self weight of the rows of a table with wait functions by these functions. */
struct wait_sums;

struct wait_sums *wait_sums_new(const struct flat *flat);
/* Add to the row that has the self weight of a stack. FLAT_NONE: to none. */
void wait_sums_add(struct wait_sums *sums, uint32_t row, struct stack_id stack, uint64_t weight);
/* Set the wait functions of the rows, and free the sums. */
void wait_sums_finish(struct wait_sums *sums, struct flat *flat);

/* Negative if a comes before b. */
typedef int (*flat_compare)(const struct flat *flat, const struct flat_row *a,
			    const struct flat_row *b);

#define FLAT_COMPARES_MAX 24

/* The first comparison that distinguishes two rows decides. */
struct flat_order {
	const struct flat *flat; /* borrowed: the table of the rows */
	flat_compare compares[FLAT_COMPARES_MAX];
	size_t nr;
	bool by_weight; /* within a group: by self, then by total, before all else */
};

/*
 * The order of a table with known keys, but not yet rows: by group, by the keys of a flat_sort(),
 * NULL being none, then the standard order: lifetimes, self, then total, downwards, then the
 * identifying members. Fails as flat_sort() does.
 */
int flat_order_of(const struct flat *flat, const char *keys, struct flat_order *order,
		  struct err *err);
/* Compares two rows, for qsort_r(). */
int flat_order_compare(const void *a, const void *b, void *order_of_rows);
/* Sort the rows of its table, and their groups. */
void flat_sort_in(struct flat *flat, struct flat_order *order);

#endif

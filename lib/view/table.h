/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_TABLE_H
#define PROFC_VIEW_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "view/cut.h"
#include "view/style.h"

struct buf;
struct sink;

/*
 * A text table that fits a terminal: columns of numbers are as wide as their widest number, columns
 * of names share the rest, and names that do not fit are cut, the subjects of rows last. If the
 * room is still too small, whole columns are dropped.
 */
struct table_column {
	const char *header;
	bool right;    /* aligned, for numbers */
	bool flexible; /* may be cut */
	enum cut cut;  /* of a flexible column */
	/* of a flexible column: it is not worth showing narrower beside others */
	size_t min_columns;
	/* order of leaving out if there is no room, the largest first; 0: never */
	unsigned int drop;
	unsigned int share; /* its share of scarce room, relative to other flexible columns */
	/*
	 * For the flexible column of the rows' subject: it is cut only after the other columns have
	 * their least width, and it keeps this width while optional columns are shown.
	 */
	size_t kept_columns;
};

struct table;

/* The columns are borrowed. */
struct table *table_new(const struct table_column *columns, size_t nr_columns);
void table_free(struct table *table);
/* The next cell, left to right, row by row. The text is raw: escaped here. */
void table_add(struct table *table, enum style style, const char *text);
/* The header line and the rows. */
void table_print(const struct table *table, const struct view *view, struct sink *sink);
/* The rows alone. */
void table_print_rows(const struct table *table, const struct view *view, struct sink *sink);

#endif

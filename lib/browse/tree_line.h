/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BROWSE_TREE_LINE_H
#define PROFC_BROWSE_TREE_LINE_H

#include <stdbool.h>

struct sink;
struct tree_row;
struct view;
struct weights;

/* The columns of a tree. */
struct tree_line {
	const struct weights *weights; /* borrowed */
	const struct view *view;       /* borrowed */
	bool has_calls;		       /* if there is room */
	double min_percent;	       /* see struct tree_part */
};

void tree_line_print_header(const struct tree_line *line, struct sink *sink);
void tree_line_print(const struct tree_line *line, const struct tree_row *row, struct sink *sink);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BROWSE_CURSOR_H
#define PROFC_BROWSE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>

/* Which row of a list is selected, and which is the first on the screen. */
struct browse_cursor {
	size_t at, first;
};

/* Is it a key that moves? Then the cursor has moved, in a list of so many rows, so many at once. */
bool browse_cursor_key(struct browse_cursor *cursor, int key, size_t nr_rows, size_t nr_lines);
/* The list has become another, or the screen: the selected row is one of it, and on the screen. */
void browse_cursor_fit(struct browse_cursor *cursor, size_t nr_rows, size_t nr_lines);
/* Go to a row that may be far away, and show it in the middle. */
void browse_cursor_go(struct browse_cursor *cursor, size_t row, size_t nr_lines);

#endif

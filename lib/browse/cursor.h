/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BROWSE_CURSOR_H
#define PROFC_BROWSE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>

/* The selected row of a list, and the first row on the screen. */
struct browse_cursor {
	size_t at, first;
};

/* If the key moves the cursor, move it in a list of nr_rows, of which nr_lines are visible. */
bool browse_cursor_key(struct browse_cursor *cursor, int key, size_t nr_rows, size_t nr_lines);
/* The list or the screen has changed: make the selected row one of the list, and visible. */
void browse_cursor_fit(struct browse_cursor *cursor, size_t nr_rows, size_t nr_lines);
/* Go to a row that may be far away, and show it in the middle of the screen. */
void browse_cursor_go(struct browse_cursor *cursor, size_t row, size_t nr_lines);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* Moves in lists longer than the screen. */
#include "browse/cursor.h"

#include "browse/key.h"

static void up(struct browse_cursor *cursor, size_t nr)
{
	cursor->at = cursor->at > nr ? cursor->at - nr : 0;
}

bool browse_cursor_key(struct browse_cursor *cursor, int key, size_t nr_rows, size_t nr_lines)
{
	size_t page = nr_lines > 1 ? nr_lines - 1 : 1;

	switch (key) {
	case BROWSE_KEY_UP:
	case 'k':
		up(cursor, 1);
		break;
	case BROWSE_KEY_DOWN:
	case 'j':
		cursor->at++;
		break;
	case BROWSE_KEY_PAGE_UP:
		up(cursor, page);
		cursor->first = cursor->first > page ? cursor->first - page : 0;
		break;
	case BROWSE_KEY_PAGE_DOWN:
		cursor->at += page;
		cursor->first += page;
		break;
	case BROWSE_KEY_HOME:
	case 'g':
		cursor->at = 0;
		break;
	case BROWSE_KEY_END:
	case 'G':
		cursor->at = nr_rows;
		break;
	default: /* a key of another kind */
		return false;
	}
	browse_cursor_fit(cursor, nr_rows, nr_lines);
	return true;
}

void browse_cursor_fit(struct browse_cursor *cursor, size_t nr_rows, size_t nr_lines)
{
	if (nr_lines == 0)
		nr_lines = 1;
	if (cursor->at >= nr_rows)
		cursor->at = nr_rows > 0 ? nr_rows - 1 : 0;
	/* Leave no empty lines at the end while there are rows to fill them. */
	if (cursor->first + nr_lines > nr_rows)
		cursor->first = nr_rows > nr_lines ? nr_rows - nr_lines : 0;
	if (cursor->first > cursor->at)
		cursor->first = cursor->at;
	if (cursor->at >= cursor->first + nr_lines)
		cursor->first = cursor->at - nr_lines + 1;
}

void browse_cursor_go(struct browse_cursor *cursor, size_t row, size_t nr_lines)
{
	cursor->at = row;
	cursor->first = row > nr_lines / 2 ? row - nr_lines / 2 : 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cuts text to a number of columns. */
#ifndef PROFC_VIEW_CUT_H
#define PROFC_VIEW_CUT_H

#include <stddef.h>

struct buf;

/* The part of a text that is dropped first. */
enum cut {
	CUT_END,
	CUT_MIDDLE, /* long names: both the scope and the last part matter */
	CUT_START,  /* paths: the end matters most */
};

/*
 * Append text (valid, escaped UTF-8) in at most `columns` terminal columns; an ellipsis replaces
 * the rest. Returns the columns used.
 */
size_t append_cut(struct buf *out, const char *text, size_t columns, enum cut cut);

/* The last component of a path, or of text that begins with a path. Borrowed from it. */
const char *cut_directories(const char *path);

#endif

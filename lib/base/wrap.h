/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wrapping of text into lines of a given width. */
#ifndef PROFC_BASE_WRAP_H
#define PROFC_BASE_WRAP_H

#include <stddef.h>

struct buf;

/* Where lines of text end, and where those after the first begin. */
struct wrap {
	size_t columns; /* at most so many in a line */
	size_t indent;
};

/*
 * Append words (valid, escaped UTF-8, parted by blanks or line ends) in lines that
 * fit; the first line is already filled up to the indent. A word that does not fit a
 * line is not broken. Ends with a newline.
 */
void wrap_words(struct buf *out, const char *words, size_t nr_bytes, const struct wrap *wrap);
/*
 * As wrap_words() for a text: empty lines separate paragraphs, and lines that begin with a blank
 * stay.
 */
void wrap_text(struct buf *out, const char *text, const struct wrap *wrap);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_WRAP_H
#define PROFC_CMD_WRAP_H

#include <stddef.h>

struct buf;

/*
 * Append words in lines of at most 79 columns, each indented by `indent`; the
 * first line is already filled up to there. Ends with a newline.
 */
void append_wrapped(struct buf *out, const char *words, size_t nr_bytes, size_t indent);
/* The same for a text: empty lines part paragraphs, lines that begin with a space stay. */
void append_paragraphs(struct buf *out, const char *text);

#endif

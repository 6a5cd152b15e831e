/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_LINE_H
#define PROFC_VIEW_LINE_H

#include <stddef.h>

#include "view/style.h"

struct buf;
struct sink;

/* Lines of text put together in a buffer, piece by piece. Texts are already escaped. */

void line_append_spaces(struct buf *line, size_t nr);
/* Text aligned to the right in a field of `width` columns; longer text is not cut. */
void line_append_right(struct buf *line, const struct view *view, enum style style, size_t width,
		       const char *text);
/* Write the line without the spaces at its end, and empty the buffer. */
void line_end(struct buf *line, struct sink *sink);
/* A whole line of one style. */
void line_print(struct sink *sink, const struct view *view, enum style style, const char *text);

#endif

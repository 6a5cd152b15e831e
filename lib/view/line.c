// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of text with fields aligned to the right. */
#include "view/line.h"

#include "base/buf.h"
#include "base/escape.h"
#include "base/sink.h"

void line_append_spaces(struct buf *line, size_t nr)
{
	while (nr-- > 0)
		buf_append_byte(line, ' ');
}

void line_append_right(struct buf *line, const struct view *view, enum style style, size_t width,
		       const char *text)
{
	size_t used = text_columns(text);

	if (used < width)
		line_append_spaces(line, width - used);
	style_append(line, view, style, text);
}

void line_end(struct buf *line, struct sink *sink)
{
	while (line->nr_bytes > 0 && line->bytes[line->nr_bytes - 1] == ' ')
		line->nr_bytes--;
	buf_append_byte(line, '\n');
	sink_write(sink, line->bytes, line->nr_bytes);
	buf_clear(line);
}

void line_print(struct sink *sink, const struct view *view, enum style style, const char *text)
{
	struct buf line = {0};

	style_append(&line, view, style, text);
	line_end(&line, sink);
	buf_release(&line);
}

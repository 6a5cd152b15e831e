// SPDX-License-Identifier: GPL-2.0-or-later
/* Paragraphs that are wrapped to the width of a view. */
#include "view/paragraph.h"

#include <string.h>

#include "base/buf.h"
#include "base/escape.h"
#include "base/sink.h"
#include "base/wrap.h"
#include "view/line.h"

/* Fewer columns than this are not worth breaking words for. */
#define ROOM_MIN 20

static void wrap_paragraph(const struct view *view, const char *lead, const char *words,
			   struct buf *text)
{
	struct wrap wrap = {.columns = view->columns, .indent = text_columns(lead)};

	if (wrap.columns < wrap.indent + ROOM_MIN)
		wrap.columns = wrap.indent + ROOM_MIN;
	buf_append_str(text, lead);
	wrap_words(text, words, strlen(words), &wrap);
}

void paragraph_print(const struct view *view, const char *lead, const char *words,
		     struct sink *sink)
{
	struct buf text = {0};

	wrap_paragraph(view, lead, words, &text);
	sink_write(sink, text.bytes, text.nr_bytes);
	buf_release(&text);
}

void paragraph_print_styled(const struct view *view, enum style style, const char *lead,
			    const char *words, struct sink *sink)
{
	struct buf text = {0}, line = {0};
	const char *at, *end;

	wrap_paragraph(view, lead, words, &text);
	for (at = buf_str(&text); (end = strchr(at, '\n')); at = end + 1) {
		buf_clear(&line);
		buf_append(&line, at, (size_t)(end - at));
		line_print(sink, view, style, buf_str(&line));
	}
	buf_release(&text);
	buf_release(&line);
}

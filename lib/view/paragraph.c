// SPDX-License-Identifier: GPL-2.0-or-later
/* Paragraphs that are wrapped to the width of a view. */
#include "view/paragraph.h"

#include <string.h>

#include "base/buf.h"
#include "base/escape.h"
#include "base/sink.h"
#include "base/wrap.h"

/* Fewer columns than this are not worth breaking words for. */
#define ROOM_MIN 20

void paragraph_print(const struct view *view, const char *lead, const char *words,
		     struct sink *sink)
{
	struct wrap wrap = {.columns = view->columns, .indent = text_columns(lead)};
	struct buf text = {0};

	if (wrap.columns < wrap.indent + ROOM_MIN)
		wrap.columns = wrap.indent + ROOM_MIN;
	buf_append_str(&text, lead);
	wrap_words(&text, words, strlen(words), &wrap);
	sink_write(sink, text.bytes, text.nr_bytes);
	buf_release(&text);
}

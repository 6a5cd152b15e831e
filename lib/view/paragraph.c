// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/paragraph.h"

#include <string.h>

#include "base/buf.h"
#include "base/escape.h"
#include "base/sink.h"

/* Fewer columns than this are not worth breaking words for. */
#define ROOM_MIN 20

static size_t word_columns(const char *word, size_t nr_bytes)
{
	struct buf copy = {0};
	size_t columns;

	buf_append(&copy, word, nr_bytes);
	columns = text_columns(buf_str(&copy));
	buf_release(&copy);
	return columns;
}

void paragraph_print(const struct view *view, const char *lead, const char *words,
		     struct sink *sink)
{
	size_t indent = text_columns(lead);
	size_t room = view->columns > indent + ROOM_MIN ? view->columns - indent : ROOM_MIN;
	size_t used = 0;

	sink_str(sink, lead);
	while (*words) {
		size_t length = strcspn(words, " ");
		size_t columns = word_columns(words, length);

		if (used > 0 && used + 1 + columns > room) {
			sink_printf(sink, "\n%*s", (int)indent, "");
			used = 0;
		} else if (used > 0) {
			sink_str(sink, " ");
			used++;
		}
		sink_write(sink, words, length);
		used += columns;
		words += length;
		words += *words == ' ';
	}
	sink_str(sink, "\n");
}

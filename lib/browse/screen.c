// SPDX-License-Identifier: GPL-2.0-or-later
/* A screen as text for a terminal. */
#include "browse/screen.h"

#include <string.h>

#include "base/escape.h"
#include "view/style.h"

#define REVERSE "\033[7m"
#define NORMAL	"\033[0m"

/* Styles would end the reverse video within the line. */
static void append_selected(struct buf *out, const char *line, size_t columns)
{
	struct style_run run;
	struct buf plain = {0};
	size_t used;

	while (style_run_next(&line, &run))
		buf_append(&plain, run.bytes, run.nr_bytes);
	used = text_columns(buf_str(&plain));
	buf_append_str(out, REVERSE);
	buf_append_str(out, buf_str(&plain));
	for (; used < columns; used++)
		buf_append_byte(out, ' ');
	buf_append_str(out, NORMAL);
	buf_release(&plain);
}

void browse_screen_append_ansi(struct buf *out, const struct browse_screen *screen, size_t columns)
{
	const char *at = (const char *)screen->text.bytes;
	const char *end = at + screen->text.nr_bytes;

	for (size_t i = 0; at < end; i++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = newline ? (size_t)(newline - at) : (size_t)(end - at);

		if (i == screen->selected)
			append_selected(out, at, columns);
		else
			buf_append(out, at, length);
		buf_append_byte(out, '\n');
		at += length + 1;
	}
}

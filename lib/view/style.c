// SPDX-License-Identifier: GPL-2.0-or-later
/* Colours of text on a terminal. */
#include "view/style.h"

#include <string.h>

#include "base/buf.h"

#define END_OF_STYLE "\033[0m"

/* ECMA-48 "select graphic rendition"; the eight basic colours follow the user's palette. */
static const char *sgr(enum style style)
{
	switch (style) {
	case STYLE_PLAIN:
		break;
	case STYLE_HEADING:
		return "\033[1m";
	case STYLE_DIM:
		return "\033[2m";
	case STYLE_HOT:
		return "\033[1;31m";
	case STYLE_WARM:
		return "\033[33m";
	case STYLE_GOOD:
		return "\033[32m";
	case STYLE_SPECIAL:
		return "\033[36m";
	}
	return NULL;
}

void style_append(struct buf *out, const struct view *view, enum style style, const char *text)
{
	const char *begin = view->colour && *text ? sgr(style) : NULL;

	if (begin)
		buf_append_str(out, begin);
	buf_append_str(out, text);
	if (begin)
		buf_append_str(out, END_OF_STYLE);
}

/* The style that the escape sequence at *at begins; STYLE_PLAIN where it ends one. */
static enum style skip_escape(const char **at)
{
	enum style found = STYLE_PLAIN;

	for (int style = STYLE_PLAIN + 1; style <= STYLE_SPECIAL; style++) {
		const char *begin = sgr((enum style)style);

		if (strncmp(*at, begin, strlen(begin)) == 0)
			found = (enum style)style;
	}
	if (found != STYLE_PLAIN)
		*at += strlen(sgr(found));
	else if (strncmp(*at, END_OF_STYLE, strlen(END_OF_STYLE)) == 0)
		*at += strlen(END_OF_STYLE);
	else
		(*at)++; /* none of ours */
	return found;
}

bool style_run_next(const char **at, struct style_run *run)
{
	run->style = STYLE_PLAIN;
	while (**at == '\033')
		run->style = skip_escape(at);
	run->bytes = *at;
	run->nr_bytes = strcspn(*at, "\033\n");
	*at += run->nr_bytes;
	return run->nr_bytes > 0;
}

enum style style_of_percent(double percent)
{
	if (percent >= 20)
		return STYLE_HOT;
	return percent >= 5 ? STYLE_WARM : STYLE_PLAIN;
}

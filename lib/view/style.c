// SPDX-License-Identifier: GPL-2.0-or-later
/* Colours of text on a terminal. */
#include "view/style.h"

#include "base/buf.h"

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
		buf_append_str(out, "\033[0m");
}

enum style style_of_percent(double percent)
{
	if (percent >= 20)
		return STYLE_HOT;
	return percent >= 5 ? STYLE_WARM : STYLE_PLAIN;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BROWSE_SCREEN_H
#define PROFC_BROWSE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define BROWSE_NO_LINE ((size_t)-1)

/* The content of a terminal. */
struct browse_screen {
	struct buf text; /* lines, in the styles of style_append(), each with its end */
	size_t selected; /* the highlighted line; BROWSE_NO_LINE: none */
};

/* Append the lines for a terminal (ECMA-48), the selected one in reverse video up to `columns`. */
void browse_screen_append_ansi(struct buf *out, const struct browse_screen *screen, size_t columns);

#endif

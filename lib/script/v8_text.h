/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_V8_TEXT_H
#define PROFC_SCRIPT_V8_TEXT_H

#include <stdint.h>

struct space;
struct v8_layout;

/* The type of the object at `address`, by its map, which is proved to be one; 0: it is none. */
uint16_t v8_type_of(const struct v8_layout *layout, struct space *space, uint64_t address);

/*
 * A text as UTF-8, which the caller owns; a long one is cut. NULL: `pointer` is that of no text, or
 * of one that is elsewhere, as that of a file.
 */
char *v8_text_read(const struct v8_layout *layout, struct space *space, uint64_t pointer);

/*
 * The number of the line, from 1, of a position in the source of the script at `script`. 0: it is
 * not known, as the source is long, or elsewhere.
 */
uint32_t v8_line_of(const struct v8_layout *layout, struct space *space, uint64_t script,
		    uint32_t position);

#endif

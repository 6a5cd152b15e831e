/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_V8_TEXT_H
#define PROFC_SCRIPT_V8_TEXT_H

#include <stdbool.h>
#include <stdint.h>

struct space;
struct v8_layout;

/* A longer source has no lines. */
#define V8_SOURCE_CHARACTERS_MAX (UINT32_C(1) << 24)

/* A small integer, which is the upper half of its word. False: there is none. */
bool v8_small_read(struct space *space, uint64_t address, uint32_t *number);

/* The type of the object at `address`, by its map, which is proved to be one; 0: it is none. */
uint16_t v8_type_of(const struct v8_layout *layout, struct space *space, uint64_t address);

/* A run of characters of `width` bytes each, which are in one place. */
struct v8_run {
	uint64_t start;
	uint32_t nr;
	unsigned int width;
};

/*
 * Follow what the text at `text` is made of to its characters. False: they are in several places,
 * or it is none.
 */
bool v8_text_find(const struct v8_layout *layout, struct space *space, uint64_t text,
		  struct v8_run *run);

/*
 * A text as UTF-8, which the caller owns; a long one is cut. NULL: `pointer` is that of no text, or
 * of one that is elsewhere, as that of a file.
 */
char *v8_text_read(const struct v8_layout *layout, struct space *space, uint64_t pointer);

#endif

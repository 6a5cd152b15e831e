// SPDX-License-Identifier: GPL-2.0-or-later
/* Texts of V8, and the lines of its sources, read from a process that runs on. */
#include "script/v8_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "mapping/space.h"
#include "script/script_text.h"
#include "script/v8.h"
#include "script/v8_layout.h"

/* Longer ones are cut. */
#define TEXT_CHARACTERS_MAX 1024
#define PARTS_MAX	    16 /* a text may be made of others */

static bool read_word(struct space *space, uint64_t address, uint64_t *word)
{
	return space_read_memory(space, address, word, sizeof(*word));
}

/* The object that a field of another one leads to; 0: none. */
static uint64_t object_at(struct space *space, uint64_t address)
{
	uint64_t pointer;

	return read_word(space, address, &pointer) ? v8_object(pointer) : 0;
}

bool v8_small_read(struct space *space, uint64_t address, uint32_t *number)
{
	uint64_t word;

	if (!read_word(space, address, &word) || (word & UINT32_MAX))
		return false;
	*number = (uint32_t)(word >> 32);
	return true;
}

/* The map of each object comes first. */
uint16_t v8_type_of(const struct v8_layout *layout, struct space *space, uint64_t address)
{
	uint64_t map = object_at(space, address), of_map;
	uint16_t type = 0, type_of_map = 0;

	if (!map || !space_read_memory(space, map + layout->map_type, &type, sizeof(type)))
		return 0;
	of_map = object_at(space, map);
	if (!of_map ||
	    !space_read_memory(space, of_map + layout->map_type, &type_of_map, sizeof(type_of_map)))
		return 0;
	return type_of_map == layout->type_map ? type : 0;
}

/* --- texts --- */

/* Is the pointer to the characters of an external text not kept in it? A bit of its type. */
#define IS_UNCACHED 16

/* Where the characters of a text are, from one of them on. False: elsewhere, or they are fewer. */
static bool find_characters(const struct v8_layout *layout, struct space *space, uint64_t text,
			    uint16_t type, uint32_t from, struct v8_run *run)
{
	run->start = text + layout->text.characters;
	if ((type & layout->text.shape_mask) == layout->text.external &&
	    ((type & IS_UNCACHED) ||
	     !read_word(space, text + layout->text.external_characters, &run->start)))
		return false;
	run->width = (type & layout->text.width_mask) == layout->text.one_byte ? 1 : 2;
	run->start += (uint64_t)from * run->width;
	return true;
}

/* The text that one without characters of its own leads to; 0: it leads to several. */
static uint64_t next_part(const struct v8_layout *layout, struct space *space, uint64_t text,
			  uint16_t shape, uint32_t *from)
{
	uint32_t offset, rest;
	uint64_t second;

	if (shape == layout->text.thin)
		return object_at(space, text + layout->text.thin_actual);
	if (shape == layout->text.sliced) {
		if (!v8_small_read(space, text + layout->text.sliced_offset, &offset) ||
		    offset > V8_SOURCE_CHARACTERS_MAX || *from > V8_SOURCE_CHARACTERS_MAX)
			return 0;
		*from += offset;
		return object_at(space, text + layout->text.sliced_parent);
	}
	if (shape != layout->text.cons)
		return 0;
	/* Flat ones have all of it in their first part. */
	second = object_at(space, text + layout->text.cons_second);
	if (!second ||
	    !space_read_memory(space, second + layout->text.length, &rest, sizeof(rest)) || rest)
		return 0;
	return object_at(space, text + layout->text.cons_first);
}

bool v8_text_find(const struct v8_layout *layout, struct space *space, uint64_t text,
		  struct v8_run *run)
{
	uint32_t from = 0;

	for (int i = 0; i < PARTS_MAX && text; i++) {
		uint16_t type = v8_type_of(layout, space, text);
		uint16_t shape = type & layout->text.shape_mask;
		uint32_t length;

		if (!type || type >= layout->text.end ||
		    !space_read_memory(space, text + layout->text.length, &length, sizeof(length)))
			return false;
		run->nr = i ? run->nr : length;
		if (shape == layout->text.sequential || shape == layout->text.external)
			return from <= length && run->nr <= length - from &&
			       find_characters(layout, space, text, type, from, run);
		text = next_part(layout, space, text, shape, &from);
	}
	return false;
}

static bool is_high(uint16_t c)
{
	return (c & 0xfc00) == 0xd800;
}

static bool is_low(uint16_t c)
{
	return (c & 0xfc00) == 0xdc00;
}

/* UTF-16, of which half a pair is none. */
static void append_wide(struct buf *out, const uint8_t *characters, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		uint16_t c, next = 0;
		uint32_t whole;

		memcpy(&c, characters + i * sizeof(c), sizeof(c));
		if (i + 1 < nr)
			memcpy(&next, characters + (i + 1) * sizeof(next), sizeof(next));
		whole = c;
		if (is_high(c) && is_low(next)) {
			whole = 0x10000 + ((uint32_t)(c & 0x3ff) << 10) + (next & 0x3ff);
			i++;
		} else if (is_high(c) || is_low(c)) {
			whole = 0xfffd;
		}
		script_text_append(out, (const uint8_t *)&whole, 1, sizeof(whole));
	}
}

static bool append_run(struct buf *out, struct space *space, struct v8_run *run)
{
	uint8_t characters[2 * TEXT_CHARACTERS_MAX];

	if (run->nr > TEXT_CHARACTERS_MAX)
		run->nr = TEXT_CHARACTERS_MAX;
	if (run->nr &&
	    !space_read_memory(space, run->start, characters, (size_t)run->nr * run->width))
		return false;
	if (run->width == 2)
		append_wide(out, characters, run->nr);
	else
		script_text_append(out, characters, run->nr, 1);
	return true;
}

static bool is_cons(const struct v8_layout *layout, struct space *space, uint64_t text)
{
	uint16_t type = v8_type_of(layout, space, text);

	return type && type < layout->text.end &&
	       (type & layout->text.shape_mask) == layout->text.cons;
}

/* A name that the parser has guessed is made of others: "Module", ".", "load". */
static bool append_text(struct buf *out, const struct v8_layout *layout, struct space *space,
			uint64_t text)
{
	uint64_t rest[PARTS_MAX];
	size_t nr = 0;
	int nr_parts = 0;

	rest[nr++] = text;
	while (nr && out->nr_bytes < TEXT_CHARACTERS_MAX) {
		struct v8_run run;

		text = rest[--nr];
		if (!text || ++nr_parts > PARTS_MAX || nr + 2 > PARTS_MAX)
			return false;
		if (v8_text_find(layout, space, text, &run)) {
			if (!append_run(out, space, &run))
				return false;
		} else if (is_cons(layout, space, text)) {
			rest[nr++] = object_at(space, text + layout->text.cons_second);
			rest[nr++] = object_at(space, text + layout->text.cons_first);
		} else {
			return false;
		}
	}
	return true;
}

char *v8_text_read(const struct v8_layout *layout, struct space *space, uint64_t pointer)
{
	struct buf text = {0};

	if (!append_text(&text, layout, space, v8_object(pointer))) {
		buf_release(&text);
		return NULL;
	}
	buf_append_byte(&text, 0);
	return (char *)text.bytes;
}

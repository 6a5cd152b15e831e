// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the lines of positions in the sources of V8's scripts. */
#include "script/v8_lines.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "mapping/space.h"
#include "script/v8.h"
#include "script/v8_layout.h"
#include "script/v8_text.h"

#define PIECE_BYTES  (UINT32_C(1) << 16)
#define SOURCES_KEPT 8
#define LINES_MAX    (UINT32_C(1) << 20)
/* A program may have ever new scripts of one long source: so much is read in a second. */
#define BYTES_A_SECOND (UINT64_C(64) << 20)

/* Where each line of a source ends. */
struct source {
	uint64_t script, text; /* the script's address, and its pointer to the source */
	uint32_t *ends;	       /* owned */
	size_t nr, cap;
};

struct v8_lines {
	struct source sources[SOURCES_KEPT];
	unsigned int next; /* that is replaced */
	uint64_t since_ns, nr_bytes;
};

struct v8_lines *v8_lines_new(void)
{
	return xcalloc(1, sizeof(struct v8_lines));
}

void v8_lines_free(struct v8_lines *lines)
{
	if (!lines)
		return;
	for (size_t i = 0; i < SOURCES_KEPT; i++)
		free(lines->sources[i].ends);
	free(lines);
}

/* --- as V8 has found them --- */

/* Where an array has its first element; the map is at 0. */
#define ARRAY_ELEMENTS 16

/* V8 finds the ends of lines once it needs them. 0: it did not so far. */
static uint32_t line_by_ends(struct space *space, uint64_t ends, uint32_t position)
{
	uint32_t nr, low = 0;

	if (!ends || !v8_small_read(space, ends + V8_ARRAY_LENGTH, &nr) || !nr ||
	    nr > V8_SOURCE_CHARACTERS_MAX)
		return 0;
	while (low < nr) {
		uint32_t middle = low + (nr - low) / 2, end;

		if (!v8_small_read(space, ends + ARRAY_ELEMENTS + (uint64_t)middle * 8, &end))
			return 0;
		if (end < position)
			low = middle + 1;
		else
			nr = middle;
	}
	return low + 1;
}

/* --- as we do --- */

static void add_ends(struct source *source, const uint8_t *characters, size_t nr,
		     unsigned int width, uint32_t from, uint16_t *former)
{
	for (size_t i = 0; i < nr; i++) {
		uint16_t c = characters[i * width];

		if (width == 2)
			memcpy(&c, characters + i * 2, sizeof(c));
		/* As JavaScript has it: a line ends with any of these, "\r\n" is one. */
		if (c == '\n' && *former == '\r') {
			source->ends[source->nr - 1]++;
		} else if (c == '\r' || c == '\n' || c == 0x2028 || c == 0x2029) {
			ARRAY_GROW(source->ends, source->nr, source->cap);
			source->ends[source->nr++] = from + (uint32_t)i;
		}
		*former = c;
	}
}

static bool may_read(struct v8_lines *lines, uint64_t nr_bytes)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns - lines->since_ns >= NS_PER_SEC) {
		lines->since_ns = now_ns;
		lines->nr_bytes = 0;
	}
	lines->nr_bytes += nr_bytes;
	return lines->nr_bytes <= BYTES_A_SECOND;
}

static bool read_source(struct source *source, struct space *space, const struct v8_run *run)
{
	uint8_t *piece = xmalloc(PIECE_BYTES);
	uint16_t former = 0;
	bool is_read = true;

	for (uint32_t done = 0; is_read && done < run->nr;) {
		uint32_t nr = (uint32_t)min_u64(PIECE_BYTES / run->width, run->nr - done);

		is_read = space_read_memory(space, run->start + (uint64_t)done * run->width, piece,
					    (size_t)nr * run->width);
		if (is_read)
			add_ends(source, piece, nr, run->width, done, &former);
		is_read &= source->nr <= LINES_MAX;
		done += nr;
	}
	free(piece);
	return is_read;
}

/* NULL: it cannot be read. */
static const struct source *find_source(struct v8_lines *lines, const struct v8_layout *layout,
					struct space *space, uint64_t script, uint64_t text)
{
	struct source *source;
	struct v8_run run;

	for (size_t i = 0; i < SOURCES_KEPT; i++) {
		if (lines->sources[i].script == script && lines->sources[i].text == text)
			return &lines->sources[i];
	}
	if (!v8_text_find(layout, space, v8_object(text), &run) ||
	    run.nr > V8_SOURCE_CHARACTERS_MAX || !may_read(lines, (uint64_t)run.nr * run.width))
		return NULL;
	source = &lines->sources[lines->next++ % SOURCES_KEPT];
	*source = (struct source){.ends = source->ends, .cap = source->cap};
	if (!read_source(source, space, &run))
		return NULL;
	source->script = script;
	source->text = text;
	return source;
}

uint32_t v8_lines_of(struct v8_lines *lines, const struct v8_layout *layout, struct space *space,
		     uint64_t script, uint32_t position)
{
	const struct source *source;
	uint64_t pointer;
	uint32_t line;
	size_t low = 0, high;

	if (!space_read_memory(space, script + layout->script_line_ends, &pointer, sizeof(pointer)))
		return 0;
	line = line_by_ends(space, v8_object(pointer), position);
	if (line ||
	    !space_read_memory(space, script + layout->script_source, &pointer, sizeof(pointer)))
		return line;
	source = find_source(lines, layout, space, script, pointer);
	if (!source)
		return 0;
	for (high = source->nr; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (source->ends[middle] < position)
			low = middle + 1;
		else
			high = middle;
	}
	return (uint32_t)low + 1;
}

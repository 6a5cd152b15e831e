// SPDX-License-Identifier: GPL-2.0-or-later
/* The texts of code objects, and what tells one from another. */
#include "script/cpython_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/lasting_hash.h"
#include "base/minmax.h"
#include "mapping/space.h"
#include "script/cpython_layout.h"
#include "script/script_text.h"
#include "snapshot/snapshot.h"

/* Longer ones are cut, or are no table. */
#define TEXT_CHARACTERS_MAX 4096
#define TABLE_BYTES_MAX	    (UINT64_C(1) << 20)

/* PyASCIIObject, up to its state: bits of it say how the characters are kept. */
#define TEXT_STATE	 32
#define TEXT_HEAD_BYTES	 36
#define STATE_KIND(s)	 ((s) >> 2 & 7) /* bytes of a character */
#define STATE_IS_COMPACT (UINT32_C(1) << 5)
#define STATE_IS_ASCII	 (UINT32_C(1) << 6)
/* PyBytesObject: no shorter than the head of a text. */
#define BYTES_START 32

static bool read_at(struct cpython_source *source, uint64_t at, void *out, size_t nr_bytes)
{
	if (source->snapshot && snapshot_read_any(source->snapshot, at, out, nr_bytes))
		return true;
	source->is_late = true;
	return source->space && space_read_memory(source->space, at, out, nr_bytes);
}

/* Where the characters or bytes of an object are: `nr` of `width` bytes each, from `start` on. */
struct shape {
	uint64_t nr;
	unsigned int width;
	uint32_t start;
};

static bool find_shape(const struct cpython_layout *layout, enum cpython_text which,
		       const uint8_t *head, struct shape *shape)
{
	uint32_t state;

	*shape = (struct shape){.width = 1, .start = BYTES_START};
	memcpy(&shape->nr, head + CPYTHON_TEXT_LENGTH, sizeof(shape->nr));
	if (which == CPYTHON_LINE_TABLE)
		return true;
	memcpy(&state, head + TEXT_STATE, sizeof(state));
	shape->width = STATE_KIND(state);
	shape->start = state & STATE_IS_ASCII ? layout->text_ascii : layout->text_other;
	return state & STATE_IS_COMPACT &&
	       (shape->width == 1 || shape->width == 2 || shape->width == 4) && shape->nr;
}

/* --- marks --- */

static uint32_t marked_bytes(const struct shape *shape)
{
	uint64_t nr_room = (CPYTHON_TEXT_BYTES - shape->start) / shape->width;

	return shape->start + (uint32_t)min_u64(shape->nr, nr_room) * shape->width;
}

/* Hashes only parts that never change: some fields of the head are set later. */
static uint64_t hash_of(const uint8_t *bytes, const struct shape *shape)
{
	uint64_t hash = lasting_hash_number(LASTING_HASH_BEGIN, shape->nr);

	hash = lasting_hash_number(hash, shape->width);
	return lasting_hash(hash, bytes + shape->start, marked_bytes(shape) - shape->start);
}

bool cpython_mark_read(const struct cpython_layout *layout, struct cpython_source *source,
		       enum cpython_text which, uint64_t at, struct cpython_mark *mark)
{
	uint8_t bytes[CPYTHON_TEXT_BYTES];
	struct shape shape;

	if (!read_at(source, at, bytes, TEXT_HEAD_BYTES) ||
	    !find_shape(layout, which, bytes, &shape) ||
	    !read_at(source, at, bytes, marked_bytes(&shape)))
		return false;
	*mark = (struct cpython_mark){.hash = hash_of(bytes, &shape),
				      .nr_bytes = marked_bytes(&shape)};
	return true;
}

/* A range that was wanted for something else may have only the beginning of the text. */
uint32_t cpython_mark_misses(const struct cpython_layout *layout, const struct snapshot *snapshot,
			     enum cpython_text which, uint64_t at)
{
	uint8_t head[TEXT_HEAD_BYTES];
	struct shape shape;

	if (!snapshot_read_any(snapshot, at, head, sizeof(head)))
		return CPYTHON_TEXT_BYTES;
	return find_shape(layout, which, head, &shape) &&
			       !snapshot_has_any(snapshot, at, marked_bytes(&shape))
		       ? CPYTHON_TEXT_BYTES
		       : 0;
}

bool cpython_mark_agrees(const struct cpython_layout *layout, enum cpython_text which,
			 const uint8_t *bytes, const struct cpython_mark *mark)
{
	uint8_t head[TEXT_HEAD_BYTES] = {0};
	struct shape shape;

	memcpy(head, bytes, min_u64(mark->nr_bytes, sizeof(head)));
	return find_shape(layout, which, head, &shape) && marked_bytes(&shape) == mark->nr_bytes &&
	       hash_of(bytes, &shape) == mark->hash;
}

/* --- texts --- */

char *cpython_text_read(const struct cpython_layout *layout, struct cpython_source *source,
			uint64_t at)
{
	uint8_t head[TEXT_HEAD_BYTES], *characters;
	struct buf text = {0};
	struct shape shape;
	bool is_read;

	if (!read_at(source, at, head, sizeof(head)) ||
	    !find_shape(layout, CPYTHON_NAME, head, &shape))
		return NULL;
	shape.nr = min_u64(shape.nr, TEXT_CHARACTERS_MAX);
	characters = xcalloc(shape.nr, shape.width);
	is_read = read_at(source, at + shape.start, characters, shape.nr * shape.width);
	if (is_read)
		script_text_append(&text, characters, shape.nr, shape.width);
	free(characters);
	if (!is_read || !text.nr_bytes) {
		buf_release(&text);
		return NULL;
	}
	buf_append_byte(&text, 0);
	return (char *)text.bytes;
}

uint8_t *cpython_table_read(struct cpython_source *source, uint64_t at, size_t *nr_bytes)
{
	uint8_t *table;
	uint64_t nr;

	*nr_bytes = 0;
	if (!read_at(source, at + CPYTHON_TEXT_LENGTH, &nr, sizeof(nr)) || !nr ||
	    nr > TABLE_BYTES_MAX)
		return NULL;
	table = xmalloc(nr);
	if (!read_at(source, at + BYTES_START, table, nr)) {
		free(table);
		return NULL;
	}
	*nr_bytes = nr;
	return table;
}

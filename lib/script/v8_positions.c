// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads which position in its source each bytecode of a function of V8 has. */
#include "script/v8_positions.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "mapping/space.h"
#include "script/v8.h"
#include "script/v8_layout.h"
#include "script/v8_text.h"

/* A longer one has no lines: that is of a function with some ten thousand calls. */
#define TABLE_BYTES_MAX (UINT32_C(1) << 16)

/* Where a BytecodeArray of V8 10.2 to 11.3 has a pointer to its table. */
#define BYTECODES_POSITIONS 32

/* Seven bits a byte, the lowest first, as long as the eighth is set; the sign is the lowest bit. */
#define NUMBER_BITS_MAX 35

static bool read_number(const uint8_t *table, size_t nr_bytes, size_t *at, int64_t *number)
{
	uint64_t bits = 0;

	for (unsigned int shift = 0; shift < NUMBER_BITS_MAX && *at < nr_bytes; shift += 7) {
		uint8_t byte = table[(*at)++];

		bits |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*number = bits & 1 ? -(int64_t)(bits >> 1) - 1 : (int64_t)(bits >> 1);
			return true;
		}
	}
	return false;
}

/* A position has a bit below it, and is kept as one more than it is. */
#define POSITION_MAX (INT64_C(1) << 30)

bool v8_positions_find(const uint8_t *table, size_t nr_bytes, uint32_t offset, uint32_t *position)
{
	/* The first entry may be of the function itself, before its first bytecode. */
	int64_t code = -1, kept = -2, found = -1;

	for (size_t at = 0; at < nr_bytes;) {
		int64_t further, by;

		if (!read_number(table, nr_bytes, &at, &further) ||
		    !read_number(table, nr_bytes, &at, &by))
			return false;
		/* The entry of an expression has the complement. */
		code += further >= 0 ? further : -(further + 1);
		if (code > (int64_t)offset)
			break;
		kept += by;
		if (kept >= 2 * POSITION_MAX)
			return false;
		found = kept < 0 ? -1 : kept / 2;
	}
	*position = (uint32_t)found;
	return found >= 0;
}

bool v8_positions_read(const struct v8_layout *layout, struct space *space, uint64_t bytecodes,
		       uint32_t offset, uint32_t *position)
{
	uint32_t nr_bytecodes, nr;
	cleanup_free uint8_t *table = NULL;
	uint64_t pointer, at;

	if (v8_type_of(layout, space, bytecodes) != layout->type_bytecodes ||
	    !v8_small_read(space, bytecodes + V8_ARRAY_LENGTH, &nr_bytecodes) ||
	    offset >= nr_bytecodes ||
	    !space_read_memory(space, bytecodes + BYTECODES_POSITIONS, &pointer, sizeof(pointer)))
		return false;
	at = v8_object(pointer);
	if (!at || v8_type_of(layout, space, at) != layout->type_bytes ||
	    !v8_small_read(space, at + V8_ARRAY_LENGTH, &nr) || !nr || nr > TABLE_BYTES_MAX)
		return false;
	table = xmalloc(nr);
	return space_read_memory(space, at + V8_BYTES_DATA, table, nr) &&
	       v8_positions_find(table, nr, offset, position);
}

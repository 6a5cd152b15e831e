// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads at which bytecode of a function the code is that V8's baseline compiler has made of it. */
#include "script/v8_baseline.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "mapping/space.h"
#include "script/object_bytes.h"
#include "script/v8.h"
#include "script/v8_layout.h"
#include "script/v8_positions.h"
#include "script/v8_text.h"

/* A longer function has no lines. */
#define BYTES_MAX (UINT32_C(1) << 16)

/* A Code from its map on, of V8 10.2 to 11.3, up to its flags, and its size in either. */
enum {
	CODE_BYTECODES = 16,
	CODE_ENDS = 24,
	CODE_BYTES = 64,
};

bool v8_baseline_find(const struct v8_layout *layout, struct space *space, uint64_t shared,
		      struct v8_baseline *code)
{
	const struct v8_code_layout *fields = &layout->code;
	uint8_t bytes[CODE_BYTES];
	uint64_t pointer, object;

	if (!space_read_memory(space, shared + layout->shared_code, &pointer, sizeof(pointer)))
		return false;
	object = v8_object(pointer);
	if (!object || !space_read_memory(space, object, bytes, sizeof(bytes)) ||
	    (number_at(bytes, fields->flags) & fields->kind_mask) != fields->kind_baseline)
		return false;
	*code = (struct v8_baseline){.object = object,
				     .start = fields->inner_start ? object + fields->inner_start
								  : word_at(bytes, fields->start),
				     .bytecodes = word_at(bytes, CODE_BYTECODES),
				     .ends = word_at(bytes, CODE_ENDS),
				     .nr_bytes = number_at(bytes, fields->size)};
	return true;
}

/* --- pieces --- */

/* Seven bits a byte, the lowest first, as long as the eighth is set. */
#define NUMBER_BITS_MAX 28

static bool read_number(struct v8_bytes *bytes, uint32_t *number)
{
	*number = 0;
	for (unsigned int shift = 0; shift < NUMBER_BITS_MAX && bytes->nr; shift += 7) {
		uint8_t byte = *bytes->at++;

		bytes->nr--;
		*number |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* The first bytecodes are prefixes: of operands twice or four times as wide, at a breakpoint too.
 */
#define NR_PREFIXES 4

/* The size of the first bytecode, with its prefix; 0: it is none. */
static size_t bytecode_size(const struct v8_layout *layout, struct v8_bytes bytecodes)
{
	size_t nr_prefixes = bytecodes.at[0] < NR_PREFIXES, scale = 0;

	if (nr_prefixes >= bytecodes.nr)
		return 0;
	if (nr_prefixes)
		scale = 1 + bytecodes.at[0] % 2;
	return bytecodes.at[nr_prefixes] < V8_NR_BYTECODES
		       ? nr_prefixes + layout->bytecode_sizes[scale][bytecodes.at[nr_prefixes]]
		       : 0;
}

bool v8_baseline_offset(const struct v8_layout *layout, struct v8_bytes bytecodes,
			struct v8_bytes ends, uint32_t nr_code_bytes, uint32_t at, uint32_t *offset)
{
	bool is_found = false;
	uint32_t done = 0, nr;
	uint64_t end;

	if (!read_number(&ends, &nr))
		return false;
	end = nr;
	while (bytecodes.nr) {
		size_t size = bytecode_size(layout, bytecodes);

		if (!size || size > bytecodes.nr || !read_number(&ends, &nr))
			return false;
		if (at >= end && at - end < nr) {
			*offset = done;
			is_found = true;
		}
		end += nr;
		done += (uint32_t)size;
		bytecodes.at += size;
		bytecodes.nr -= size;
	}
	return is_found && !ends.nr && end <= nr_code_bytes;
}

/* Its bytes, which the caller owns. False: it is no such object, or a long one. */
static bool read_bytes(const struct v8_layout *layout, struct space *space, uint64_t address,
		       uint16_t type, uint32_t data, uint8_t **bytes, uint32_t *nr)
{
	if (!address || v8_type_of(layout, space, address) != type ||
	    !v8_small_read(space, address + V8_ARRAY_LENGTH, nr) || !*nr || *nr > BYTES_MAX)
		return false;
	*bytes = xmalloc(*nr);
	return space_read_memory(space, address + data, *bytes, *nr);
}

bool v8_baseline_position(const struct v8_layout *layout, struct space *space,
			  const struct v8_baseline *code, uint64_t pc, uint32_t *position)
{
	uint64_t bytecodes = v8_object(code->bytecodes);
	cleanup_free uint8_t *bytes = NULL, *ends = NULL;
	uint32_t nr_bytes, nr_ends, offset;

	if (pc < code->start || pc - code->start >= code->nr_bytes ||
	    v8_type_of(layout, space, code->object) != layout->code.type ||
	    !read_bytes(layout, space, bytecodes, layout->type_bytecodes, layout->bytecodes_data,
			&bytes, &nr_bytes) ||
	    !read_bytes(layout, space, v8_object(code->ends), layout->type_bytes, V8_BYTES_DATA,
			&ends, &nr_ends))
		return false;
	return v8_baseline_offset(layout, (struct v8_bytes){bytes, nr_bytes},
				  (struct v8_bytes){ends, nr_ends}, code->nr_bytes,
				  (uint32_t)(pc - code->start), &offset) &&
	       v8_positions_read(layout, space, bytecodes, offset, position);
}

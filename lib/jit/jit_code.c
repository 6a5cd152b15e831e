// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of JIT-compiled code by address range, later ranges replacing earlier ones. */
#include "jit/jit_code.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"

void jit_code_clear(struct jit_code *code)
{
	code->nr = 0;
	code->nr_lines = 0;
	code->is_full = false;
	buf_clear(&code->texts);
}

void jit_code_release(struct jit_code *code)
{
	free(code->ranges);
	free(code->lines);
	buf_release(&code->texts);
	*code = (struct jit_code){0};
}

static bool has_room(struct jit_code *code, size_t nr_more)
{
	size_t nr_bytes = code->nr * sizeof(*code->ranges) + code->nr_lines * sizeof(*code->lines) +
			  code->texts.nr_bytes;

	if (nr_bytes + nr_more > JIT_CODE_MAX_BYTES)
		code->is_full = true;
	return !code->is_full;
}

static uint64_t add_text(struct jit_code *code, const char *text, size_t nr_bytes)
{
	uint64_t at = code->texts.nr_bytes;

	buf_append(&code->texts, text, nr_bytes);
	buf_append_byte(&code->texts, '\0');
	return at;
}

struct jit_range *jit_code_add(struct jit_code *code, uint64_t start, uint64_t nr_bytes,
			       const char *name, size_t nr_name_bytes)
{
	struct jit_range *range;

	if (!nr_bytes || nr_bytes > UINT64_MAX - start || !nr_name_bytes ||
	    !has_room(code, sizeof(*range) + nr_name_bytes))
		return NULL;
	ARRAY_GROW(code->ranges, code->nr, code->cap);
	range = &code->ranges[code->nr++];
	*range = (struct jit_range){.start = start,
				    .end = start + nr_bytes,
				    .name_at = add_text(code, name, nr_name_bytes)};
	return range;
}

struct jit_range *jit_code_add_moved(struct jit_code *code, size_t index, uint64_t start,
				     uint64_t nr_bytes)
{
	struct jit_range *range;

	if (!nr_bytes || nr_bytes > UINT64_MAX - start || !has_room(code, sizeof(*range)))
		return NULL;
	ARRAY_GROW(code->ranges, code->nr, code->cap);
	range = &code->ranges[code->nr++];
	*range = code->ranges[index];
	range->start = start;
	range->end = start + nr_bytes;
	return range;
}

bool jit_code_add_line(struct jit_code *code, uint32_t offset, uint32_t line, const char *file,
		       size_t nr_file_bytes)
{
	struct jit_line row = {.offset = offset, .line = line};

	assert(file || code->nr_lines);
	if (!has_room(code, sizeof(row) + (file ? nr_file_bytes : 0)))
		return false;
	row.file_at = file ? add_text(code, file, nr_file_bytes)
			   : code->lines[code->nr_lines - 1].file_at;
	ARRAY_GROW(code->lines, code->nr_lines, code->cap_lines);
	code->lines[code->nr_lines++] = row;
	return true;
}

static const char *text_at(const struct jit_code *code, uint64_t at)
{
	return (const char *)code->texts.bytes + at;
}

const char *jit_code_name(const struct jit_code *code, const struct jit_range *range)
{
	return text_at(code, range->name_at);
}

const char *jit_code_file(const struct jit_code *code, const struct jit_line *line)
{
	return text_at(code, line->file_at);
}

const struct jit_line *jit_code_line(const struct jit_code *code, const struct jit_range *range,
				     uint64_t address)
{
	const struct jit_line *lines = code->lines + range->first_line;
	uint64_t offset = address - range->start;
	size_t low = 0;
	size_t high = range->nr_lines;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lines[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &lines[low - 1] : NULL;
}

static size_t first_at_or_above(const uint64_t *addresses, size_t nr, uint64_t wanted)
{
	size_t low = 0;
	size_t high = nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (addresses[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first address from i on that has no range yet; shortens the search for the next caller. */
static size_t next_open(size_t *next, size_t i)
{
	while (next[i] != i) {
		next[i] = next[next[i]];
		i = next[i];
	}
	return i;
}

void jit_code_find(const struct jit_code *code, size_t first, const uint64_t *addresses,
		   uint32_t *found, size_t nr)
{
	size_t *next;

	if (!nr || first >= code->nr)
		return;
	next = xcalloc(nr + 1, sizeof(*next));
	for (size_t i = 0; i <= nr; i++)
		next[i] = i;
	/* From the last range on: then each address is looked up once, even if ranges overlap. */
	for (size_t r = code->nr; r-- > first;) {
		const struct jit_range *range = &code->ranges[r];
		size_t i = next_open(next, first_at_or_above(addresses, nr, range->start));

		for (; i < nr && addresses[i] < range->end; i = next_open(next, i)) {
			found[i] = (uint32_t)r + 1;
			next[i] = i + 1;
		}
	}
	free(next);
}

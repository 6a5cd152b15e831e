// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions of code without symbols and without unwind information: stripped programs in Pascal,
 * assembly, code that is built with -fno-asynchronous-unwind-tables. Without their starts each
 * instruction would be a function of its own.
 */
#include "symbol/code_starts.h"

#include <gelf.h>

#include "base/ended.h"
#include "base/minmax.h"
#include "symbol/code_sections.h"
#include "symbol/sizeless.h"

struct search {
	struct code_sections sections;
	/* Until they are divided, start and end are the nearest places that are known to begin one.
	 */
	struct nameless_code *rows;
	size_t nr;
};

static bool is_x86_64(Elf *elf)
{
	GElf_Ehdr header;

	return gelf_getehdr(elf, &header) && header.e_machine == EM_X86_64;
}

static const struct code_section *section_at(const struct search *search, uint64_t address)
{
	const struct code_section *section = code_section_at(&search->sections, address);

	return section && section->is_code ? section : NULL;
}

/* How many rows are before an address. */
static size_t nr_before(const struct search *search, uint64_t address)
{
	size_t low = 0, high = search->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (search->rows[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A place where code calls something. `is_certain`: else it may be no call. */
static void add_start(struct search *search, uint64_t address, bool is_certain)
{
	size_t nr = nr_before(search, address);
	struct nameless_code *above = nr < search->nr ? &search->rows[nr] : NULL;
	struct nameless_code *below = nr ? &search->rows[nr - 1] : NULL;
	const struct code_section *section;

	if (above && address <= above->start)
		above = NULL;
	if (below && address >= below->end)
		below = NULL;
	if (!above && !below)
		return;
	section = section_at(search, address);
	if (!section || (!is_certain && !code_may_begin_x86_64(section, address)))
		return;
	if (above)
		above->start = address;
	if (below)
		below->end = address;
}

/* Bytes that look like a call may be the midst of another instruction. */
static void add_likely_calls(struct search *search, const struct code_section *section,
			     const atomic_bool *ended)
{
	struct sizeless_calls calls = {.code = section->bytes, .nr_bytes = section->nr_bytes};
	int64_t to;

	while (!has_ended(ended) && sizeless_next_call_x86_64(&calls, &to))
		add_start(search, section->address + (uint64_t)to, false);
}

/* A frame's address is the last byte of its call. */
static void add_certain_calls(struct search *search, const uint64_t *calls, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct code_section *section = section_at(search, calls[i]);
		struct sizeless_calls at_call = {.nr_bytes = 0};
		int64_t to;

		if (!section || calls[i] - section->address < 4)
			continue;
		at_call.code = section->bytes;
		at_call.nr_bytes = (size_t)(calls[i] - section->address) + 1;
		at_call.at = at_call.nr_bytes - 5;
		if (sizeless_next_call_x86_64(&at_call, &to))
			add_start(search, section->address + (uint64_t)to, true);
	}
}

/* To begin with, a function has all that is not known to be of another, within its section. */
static void set_bounds(struct search *search)
{
	for (size_t i = 0; i < search->nr; i++) {
		struct nameless_code *row = &search->rows[i];
		const struct code_section *section = section_at(search, row->address);

		row->start = row->end = row->address;
		if (!section)
			continue;
		row->start = max_u64(row->low, section->address);
		row->end = min_u64(row->high, section->address + section->nr_bytes);
	}
}

/* The bounds of one row hold for the rows beyond it, too. */
static void spread_bounds(struct search *search)
{
	for (size_t i = 1; i < search->nr; i++) {
		struct nameless_code *row = &search->rows[i];

		if (row->low == row[-1].low)
			row->start = max_u64(row->start, row[-1].start);
	}
	for (size_t i = search->nr; i-- > 1;) {
		struct nameless_code *row = &search->rows[i];

		if (row->low == row[-1].low)
			row[-1].end = min_u64(row[-1].end, row->end);
	}
}

static void divide(struct search *search, size_t index)
{
	struct nameless_code *row = &search->rows[index];
	const struct nameless_code *before = index ? row - 1 : NULL;
	uint64_t start = row->start;

	if (!section_at(search, row->address))
		return;
	if (before && before->start < before->end && before->start >= start) {
		start = before->start;
		if (row->address < before->end) {
			row->start = before->start;
			row->end = before->end;
			return;
		}
	}
	code_divide_x86_64(&search->sections, start, row->end, row);
}

void code_starts_find(Elf *elf, const uint64_t *calls, size_t nr_calls, struct nameless_code *rows,
		      size_t nr, const atomic_bool *ended)
{
	struct search search = {.rows = rows, .nr = nr};

	for (size_t i = 0; i < nr; i++)
		rows[i].start = rows[i].end = rows[i].address;
	if (!nr || !is_x86_64(elf))
		return;
	code_sections_read(&search.sections, elf);
	set_bounds(&search);
	for (size_t i = 0; i < search.sections.nr && !has_ended(ended); i++) {
		if (search.sections.rows[i].is_code)
			add_likely_calls(&search, &search.sections.rows[i], ended);
	}
	add_certain_calls(&search, calls, nr_calls);
	spread_bounds(&search);
	for (size_t i = 0; i < nr && !has_ended(ended); i++)
		divide(&search, i);
	code_sections_release(&search.sections);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Symbols without a size, frequent in assembly. If local symbols are stripped, such a symbol would
 * also name the functions after it: in musl's libc.so, __clone, in which every thread begins, would
 * be memset. A direct call shows the start of another function.
 */
#include "symbol/sizeless.h"

#include <gelf.h>
#include <stdbool.h>

#include "base/file_pages.h"
#include "symbol/code_sections.h"

/* The range that holds an address after its start, or NULL. */
static struct sizeless_range *range_around(struct sizeless_range *ranges, size_t nr,
					   uint64_t address)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges[middle].start < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < ranges[low - 1].end ? &ranges[low - 1] : NULL;
}

/* Code is large, and read once: so much of it stays in memory. */
#define PIECE_BYTES ((size_t)2 << 20)

static void scan(const uint8_t *code, size_t nr_bytes, uint64_t address,
		 struct sizeless_range *ranges, size_t nr)
{
	uint64_t lowest = ranges[0].start, highest = ranges[nr - 1].end;
	size_t at = 0, released = 0;
	int64_t to;

	while (sizeless_next_call_x86_64(code, nr_bytes, &at, &to)) {
		if (at - released > PIECE_BYTES) {
			file_pages_release(code + released, at - released);
			released = at;
		}
		uint64_t target = address + (uint64_t)to;
		struct sizeless_range *range;

		if (target <= lowest || target >= highest)
			continue;
		range = range_around(ranges, nr, target);
		if (range && (!range->cut || target < range->cut))
			range->cut = target;
		if (range && to >= 0 && (uint64_t)to < nr_bytes &&
		    sizeless_is_clone_x86_64(code + to, nr_bytes - (size_t)to))
			range->clone = target;
	}
	if (released)
		file_pages_release(code + released, nr_bytes - released);
}

static bool is_x86_64(Elf *elf)
{
	GElf_Ehdr header;

	return gelf_getehdr(elf, &header) && header.e_machine == EM_X86_64;
}

/* The bytes of the next section of code, or NULL. */
static const Elf_Data *next_code(Elf *elf, Elf_Scn **section, GElf_Shdr *header, size_t *nr_left)
{
	while ((*section = elf_nextscn(elf, *section))) {
		const Elf_Data *data;

		if (!gelf_getshdr(*section, header) || header->sh_type != SHT_PROGBITS ||
		    !(header->sh_flags & SHF_EXECINSTR))
			continue;
		data = code_section_data(*section, nr_left);
		if (data)
			return data;
	}
	return NULL;
}

void sizeless_find_cuts(Elf *elf, uint64_t bias, struct sizeless_range *ranges, size_t nr)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	const Elf_Data *data;
	size_t nr_left;

	if (!nr || !is_x86_64(elf))
		return;
	nr_left = code_bytes_of(elf);
	while ((data = next_code(elf, &section, &header, &nr_left)))
		scan(data->d_buf, data->d_size, header.sh_addr + bias, ranges, nr);
}

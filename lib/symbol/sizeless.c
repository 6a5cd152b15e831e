// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Symbols without a size, frequent in assembly. If local symbols are stripped, such a symbol would
 * also name the functions after it: in musl's libc.so, __clone, in which every thread begins, would
 * be memset. A direct call shows the start of another function.
 */
#include "symbol/sizeless.h"

#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file_pages.h"
#include "symbol/code_sections.h"

#define BLOCKS ((size_t)1 << 14)

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

/* Which blocks of addresses have bytes of a range: nearly all calls lead to others. */
struct blocks {
	uint64_t from, to; /* of the ranges */
	unsigned int block_log2;
	uint8_t bits[BLOCKS / 8];
};

static void blocks_init(struct blocks *blocks, const struct sizeless_range *ranges, size_t nr)
{
	*blocks = (struct blocks){.from = ranges[0].start, .to = ranges[nr - 1].end};
	while ((blocks->to - blocks->from) >> blocks->block_log2 >= BLOCKS)
		blocks->block_log2++;
	for (size_t i = 0; i < nr; i++) {
		uint64_t last = (ranges[i].end - blocks->from) >> blocks->block_log2;

		for (uint64_t at = (ranges[i].start - blocks->from) >> blocks->block_log2;
		     at <= last; at++)
			blocks->bits[at / 8] |= (uint8_t)(1u << at % 8);
	}
}

static bool may_be_in_range(const struct blocks *blocks, uint64_t address)
{
	uint64_t at = (address - blocks->from) >> blocks->block_log2;

	return address > blocks->from && address < blocks->to &&
	       blocks->bits[at / 8] & 1u << at % 8;
}

/* Code is large, and read once: so much of it stays in memory. */
#define PIECE_BYTES ((size_t)2 << 20)

static void scan(const uint8_t *code, size_t nr_bytes, uint64_t address,
		 const struct blocks *blocks, struct sizeless_range *ranges, size_t nr)
{
	struct sizeless_calls calls = {.code = code, .nr_bytes = nr_bytes};
	size_t released = 0;
	int64_t to;

	while (sizeless_next_call_x86_64(&calls, &to)) {
		uint64_t target = address + (uint64_t)to;
		struct sizeless_range *range;

		if (calls.block - released > PIECE_BYTES) {
			file_pages_release(code + released, calls.block - released);
			released = calls.block;
		}
		if (!may_be_in_range(blocks, target))
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
	struct blocks *blocks;
	size_t nr_left;

	if (!nr || !is_x86_64(elf))
		return;
	blocks = xmalloc(sizeof(*blocks));
	blocks_init(blocks, ranges, nr);
	nr_left = code_bytes_of(elf);
	while ((data = next_code(elf, &section, &header, &nr_left)))
		scan(data->d_buf, data->d_size, header.sh_addr + bias, blocks, ranges, nr);
	free(blocks);
}

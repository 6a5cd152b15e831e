// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Symbols without a size. Assembly often has none, and where the local symbols are stripped, what
 * stands behind such a function would get its name: in musl's libc.so __clone, in which
 * every thread begins, the name of memset. A direct call shows where another function begins.
 */
#include "symbol/sizeless.h"

#include <gelf.h>
#include <stdbool.h>
#include <string.h>

#define CALL_BYTES 5 /* e8 rel32 */

/* As far as the system call may be from the entry of what makes it. */
#define CLONE_BYTES 64

/* The range that holds an address behind its start, or NULL. */
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

/* mov $56,%al or mov $56,%eax, and a system call behind it */
static bool is_clone(const uint8_t *code, size_t nr_bytes)
{
	bool has_number = false;

	for (size_t i = 0; i + 2 <= nr_bytes && i < CLONE_BYTES; i++) {
		has_number |= code[i + 1] == 56 && (code[i] == 0xb0 || code[i] == 0xb8);
		if (code[i] == 0xc3)
			return false;
		if (code[i] == 0x0f && code[i + 1] == 0x05)
			return has_number;
	}
	return false;
}

static void scan(const uint8_t *code, size_t nr_bytes, uint64_t address,
		 struct sizeless_range *ranges, size_t nr)
{
	uint64_t lowest = ranges[0].start, highest = ranges[nr - 1].end;
	const uint8_t *at = code, *end = code + nr_bytes;

	while (end - at >= CALL_BYTES && (at = memchr(at, 0xe8, (size_t)(end - at) - 4))) {
		struct sizeless_range *range;
		uint64_t target;
		int32_t distance;

		memcpy(&distance, ++at, sizeof(distance));
		target = address + (uint64_t)(at - code) + sizeof(distance) +
			 (uint64_t)(int64_t)distance;
		if (target <= lowest || target >= highest)
			continue;
		range = range_around(ranges, nr, target);
		if (range && (!range->cut || target < range->cut))
			range->cut = target;
		if (range && target - address < nr_bytes &&
		    is_clone(code + (target - address), nr_bytes - (size_t)(target - address)))
			range->clone = target;
	}
}

static bool is_x86_64(Elf *elf)
{
	GElf_Ehdr header;

	return gelf_getehdr(elf, &header) && header.e_machine == EM_X86_64;
}

/* The bytes of the next section of code, or NULL. */
static Elf_Data *next_code(Elf *elf, Elf_Scn **section, GElf_Shdr *header)
{
	while ((*section = elf_nextscn(elf, *section))) {
		Elf_Data *data;

		if (!gelf_getshdr(*section, header) || header->sh_type != SHT_PROGBITS ||
		    !(header->sh_flags & SHF_EXECINSTR))
			continue;
		data = elf_rawdata(*section, NULL);
		if (data && data->d_buf && data->d_size)
			return data;
	}
	return NULL;
}

void sizeless_find_cuts(Elf *elf, uint64_t bias, struct sizeless_range *ranges, size_t nr)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	Elf_Data *data;

	if (!nr || !is_x86_64(elf))
		return;
	while ((data = next_code(elf, &section, &header)))
		scan(data->d_buf, data->d_size, header.sh_addr + bias, ranges, nr);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Search tables over call frame information: .eh_frame_hdr, and an index of our own. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cfi/cfi.h"

/* LSB 10.6.2: version, three encodings, pointer to .eh_frame, count; then the table. */
#define HDR_BYTES   12
#define ENTRY_BYTES 8

void cfi_index_build(struct elf_ranges *index, const struct cfi_section *section)
{
	struct elf_range range;
	uint64_t offset = 0;

	while (cfi_section_next(section, &offset, &range))
		elf_ranges_add(index, range);
	elf_ranges_sort(index);
}

static int32_t hdr_i32(const struct elf_bytes *hdr, size_t at)
{
	int32_t value;

	memcpy(&value, hdr->bytes + at, sizeof(value));
	return value;
}

static uint32_t hdr_nr_entries(const struct elf_bytes *hdr)
{
	return (uint32_t)hdr_i32(hdr, 8);
}

bool cfi_hdr_is_usable(const struct elf_bytes *hdr)
{
	/* version 1; .eh_frame pc-relative, count 4 bytes, table relative to the header */
	static const uint8_t usual[] = {1, 0x1b, 0x03, 0x3b};

	return hdr->nr_bytes >= HDR_BYTES + ENTRY_BYTES &&
	       !memcmp(hdr->bytes, usual, sizeof(usual)) && hdr_nr_entries(hdr) &&
	       hdr_nr_entries(hdr) <= (hdr->nr_bytes - HDR_BYTES) / ENTRY_BYTES;
}

uint64_t *cfi_hdr_starts(const struct elf_bytes *hdr, size_t *nr)
{
	uint32_t nr_entries = hdr_nr_entries(hdr);
	uint64_t *starts = xcalloc(nr_entries, sizeof(*starts));

	for (uint32_t i = 0; i < nr_entries; i++) {
		int64_t distance = hdr_i32(hdr, HDR_BYTES + (size_t)i * ENTRY_BYTES);

		starts[i] = hdr->vaddr + (uint64_t)distance;
		if (i && starts[i] < starts[i - 1]) {
			free(starts);
			return NULL;
		}
	}
	*nr = nr_entries;
	return starts;
}

/* How many entries begin at or before an address. */
static size_t hdr_nr_up_to(const struct elf_bytes *hdr, uint64_t address)
{
	int64_t wanted = (int64_t)(address - hdr->vaddr);
	size_t low = 0;
	size_t high = hdr_nr_entries(hdr);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (hdr_i32(hdr, HDR_BYTES + middle * ENTRY_BYTES) <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool cfi_hdr_find(const struct elf_bytes *hdr, const struct elf_bytes *eh_frame, uint64_t address,
		  uint64_t *offset)
{
	size_t nr = hdr_nr_up_to(hdr, address);
	uint64_t fde;

	if (!nr)
		return false;
	fde = hdr->vaddr + (uint64_t)(int64_t)hdr_i32(hdr, HDR_BYTES + (nr - 1) * ENTRY_BYTES + 4);
	*offset = fde - eh_frame->vaddr;
	return *offset < eh_frame->nr_bytes;
}

static bool is_usable(const struct cfi_search *search)
{
	return search->hdr.bytes && search->frames.bytes && cfi_hdr_is_usable(&search->hdr);
}

/* The last entry that begins at or before an address. */
static bool entry_before(const struct cfi_search *search, uint64_t address, struct cfi_fde *fde)
{
	const struct cfi_section section = {.bytes = search->frames,
					    .hdr_vaddr = search->hdr.vaddr};
	uint64_t offset;

	return cfi_hdr_find(&search->hdr, &search->frames, address, &offset) &&
	       cfi_fde_at(&section, offset, fde);
}

bool cfi_search_function(const struct cfi_search *search, uint64_t address, uint64_t *start,
			 uint64_t *end)
{
	struct cfi_fde fde;

	if (!is_usable(search) || !entry_before(search, address, &fde) || address < fde.start ||
	    address >= fde.end)
		return false;
	*start = fde.start;
	*end = fde.end;
	return true;
}

void cfi_search_gap(const struct cfi_search *search, uint64_t address, uint64_t *low,
		    uint64_t *high)
{
	struct cfi_fde fde;
	uint64_t next;
	size_t nr;

	if (!is_usable(search))
		return;
	if (entry_before(search, address, &fde) && fde.end <= address && fde.end > *low)
		*low = fde.end;
	nr = hdr_nr_up_to(&search->hdr, address);
	if (nr == hdr_nr_entries(&search->hdr))
		return;
	next = search->hdr.vaddr +
	       (uint64_t)(int64_t)hdr_i32(&search->hdr, HDR_BYTES + nr * ENTRY_BYTES);
	if (next > address && next < *high)
		*high = next;
}

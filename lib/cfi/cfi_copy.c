// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Converts .debug_frame into .eh_frame, the only section that libunwind reads. Each FDE gets a CIE
 * of its own in the simplest encoding: larger, but without a search for equal ones.
 */
#include "cfi/cfi_copy.h"

#include <stdlib.h>
#include <string.h>

/* The headers of both entries, with pointers and numbers at their widest. */
#define HEADER_BYTES_MAX 80

static void append_sleb(struct buf *out, int64_t value)
{
	bool is_last = false;

	while (!is_last) {
		uint8_t byte = value & 0x7f;

		value >>= 7; /* arithmetic, as all compilers have it */
		is_last = (value == 0 && !(byte & 0x40)) || (value == -1 && (byte & 0x40));
		buf_append_byte(out, is_last ? byte : byte | 0x80);
	}
}

/* Returns the position of the entry's length, which end_entry() fills in. */
static size_t begin_entry(struct buf *out, uint32_t id)
{
	size_t at = out->nr_bytes;

	buf_append_u32(out, 0);
	buf_append_u32(out, id);
	return at;
}

static void end_entry(struct buf *out, size_t at)
{
	uint32_t nr_bytes = (uint32_t)(out->nr_bytes - at - 4);

	memcpy(out->bytes + at, &nr_bytes, sizeof(nr_bytes));
}

static void append_instructions(struct buf *out, struct cursor instructions)
{
	buf_append(out, instructions.at, cursor_left(&instructions));
}

/* Returns the position of the FDE. */
static size_t append_entries(struct buf *out, const struct cfi_fde *fde, uint64_t bias)
{
	size_t cie = begin_entry(out, 0);
	size_t at;

	buf_append_byte(out, 1); /* version */
	buf_append_byte(out, 0); /* no augmentation: absolute pointers */
	buf_append_uleb(out, fde->code_align);
	append_sleb(out, fde->data_align);
	buf_append_byte(out, (uint8_t)fde->ra_column);
	append_instructions(out, fde->initial_instructions);
	end_entry(out, cie);
	at = begin_entry(out, (uint32_t)(out->nr_bytes + 4 - cie));
	buf_append_u64(out, fde->start + bias);
	buf_append_u64(out, fde->end - fde->start);
	append_instructions(out, fde->instructions);
	end_entry(out, at);
	return at;
}

void cfi_copy_debug_frame(const struct cfi_section *section, uint64_t bias, uint64_t out_at,
			  struct buf *out, struct buf *table)
{
	struct elf_ranges index = {0};

	cfi_index_build(&index, section);
	for (size_t i = 0; i < index.nr; i++) {
		int64_t start = (int64_t)(index.at[i].start + bias - out_at);
		struct cfi_fde fde;

		if (start != (int32_t)start || out->nr_bytes > INT32_MAX / 2 ||
		    !cfi_fde_at(section, index.at[i].value, &fde))
			continue;
		buf_append_u32(table, (uint32_t)start);
		buf_append_u32(table, (uint32_t)append_entries(out, &fde, bias));
	}
	elf_ranges_release(&index);
}

uint64_t cfi_copy_max_bytes(const struct cfi_section *section)
{
	struct elf_ranges index = {0};
	uint64_t nr_bytes = 0;

	cfi_index_build(&index, section);
	for (size_t i = 0; i < index.nr; i++) {
		struct cfi_fde fde;

		if (cfi_fde_at(section, index.at[i].value, &fde))
			nr_bytes += HEADER_BYTES_MAX + cursor_left(&fde.initial_instructions) +
				    cursor_left(&fde.instructions);
	}
	elf_ranges_release(&index);
	return nr_bytes;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Function starts in files without symbols, from .eh_frame_hdr. */
#include "symbol/fde_start.h"

#include <stddef.h>
#include <string.h>

#include "base/buf.h"

/* Pointer encodings, DW_EH_PE_*: what every linker writes into the index. */
#define TABLE_DATAREL_SDATA4 0x3b
#define COUNT_UDATA4	     0x03
#define HEADER_BYTES	     12 /* version, three encodings, address of .eh_frame, count */
#define ROW_BYTES	     8	/* start of the function, its entry; relative to the header */

static int32_t row_member(const struct fde_index *index, uint32_t row, size_t member)
{
	int32_t value;

	memcpy(&value, index->hdr.at + HEADER_BYTES + (size_t)row * ROW_BYTES + member * 4,
	       sizeof(value));
	return value;
}

static uint32_t nr_rows(const struct fde_index *index)
{
	size_t nr_bytes = index->hdr.nr;
	uint32_t nr;

	if (!index->hdr.at || nr_bytes < HEADER_BYTES || index->hdr.at[0] != 1 ||
	    index->hdr.at[2] != COUNT_UDATA4 || index->hdr.at[3] != TABLE_DATAREL_SDATA4)
		return 0;
	memcpy(&nr, index->hdr.at + 8, sizeof(nr));
	return nr <= (nr_bytes - HEADER_BYTES) / ROW_BYTES ? nr : 0;
}

/* The last row that begins at or before an address; false when there is none. */
static bool find_row(const struct fde_index *index, uint64_t address, uint32_t *row)
{
	uint32_t low = 0, high = nr_rows(index);

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (index->hdr_address + (uint64_t)(int64_t)row_member(index, middle, 0) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	*row = low - 1;
	return low > 0;
}

static struct cursor cursor_at(const struct fde_index *index, uint64_t offset)
{
	struct cursor cursor = {.failed = true};

	if (index->frames.at && offset < index->frames.nr)
		cursor =
			cursor_over(index->frames.at + offset, (size_t)(index->frames.nr - offset));
	return cursor;
}

/* How many bytes a pointer takes in an encoding, 0: no fixed number. */
static size_t pointer_bytes(uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case 0x00: /* absptr, of a 64-bit file */
	case 0x04: /* udata8 */
	case 0x0c: /* sdata8 */
		return 8;
	case 0x03: /* udata4 */
	case 0x0b: /* sdata4 */
		return 4;
	}
	return 0;
}

/* The encoding of the pointers in the entries of a CIE; 0, absolute, when it does not say. */
static bool entry_encoding(const struct fde_index *index, uint64_t cie, uint8_t *encoding)
{
	struct cursor cursor = cursor_at(index, cie);
	const char *augmentation;
	uint8_t version;

	cursor_bytes(&cursor, 8); /* length, id */
	version = cursor_byte(&cursor);
	augmentation = (const char *)cursor.at;
	while (!cursor.failed && cursor_byte(&cursor) != '\0')
		;
	cursor_uleb(&cursor); /* code alignment */
	cursor_uleb(&cursor); /* data alignment: signed, but as long */
	if (version == 1)
		cursor_byte(&cursor); /* return address column */
	else
		cursor_uleb(&cursor);
	*encoding = 0;
	if (cursor.failed || *augmentation++ != 'z')
		return !cursor.failed;
	cursor_uleb(&cursor); /* length of what follows */
	for (; *augmentation && !cursor.failed; augmentation++) {
		if (*augmentation == 'R')
			*encoding = cursor_byte(&cursor);
		else if (*augmentation == 'L')
			cursor_byte(&cursor);
		else if (*augmentation == 'P')
			cursor_bytes(&cursor, pointer_bytes(cursor_byte(&cursor)));
	}
	return !cursor.failed;
}

/* How many bytes of code an entry covers. */
static bool entry_range(const struct fde_index *index, uint64_t entry, uint64_t *range)
{
	struct cursor cursor = cursor_at(index, entry);
	uint32_t back;
	uint8_t encoding;
	size_t nr_bytes;

	if (cursor_u32(&cursor) == UINT32_MAX) /* 64-bit format: not in .eh_frame of linkers */
		return false;
	back = cursor_u32(&cursor);
	if (cursor.failed || back == 0 || back > entry + 4 ||
	    !entry_encoding(index, entry + 4 - back, &encoding))
		return false;
	nr_bytes = pointer_bytes(encoding);
	cursor_bytes(&cursor, nr_bytes); /* where the code begins */
	*range = nr_bytes == 8 ? cursor_u64(&cursor) : cursor_u32(&cursor);
	return nr_bytes != 0 && !cursor.failed;
}

bool fde_index_find(const struct fde_index *index, uint64_t address, uint64_t *start, uint64_t *end)
{
	uint64_t begin, entry, range;
	uint32_t row;

	if (!find_row(index, address, &row))
		return false;
	begin = index->hdr_address + (uint64_t)(int64_t)row_member(index, row, 0);
	entry = index->hdr_address + (uint64_t)(int64_t)row_member(index, row, 1) -
		index->frames_address;
	/* The index has the starts of functions; the end is in the entry. */
	if (!entry_range(index, entry, &range) || address - begin >= range)
		return false;
	*start = begin;
	*end = begin + range;
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_DWARF_DWARF_BYTES_H
#define PROFC_DWARF_DWARF_BYTES_H

#include "base/cursor.h"

/* The bytes of a section, or a part of them. */
struct dwarf_bytes {
	const uint8_t *at; /* borrowed; NULL when there is no such section */
	size_t nr;
	/* The offset of a whole section in its file; 0 when it was inflated or made. */
	uint64_t file_offset;
};

/* The bytes from `offset` on, which is inside. */
static inline struct dwarf_bytes dwarf_tail(struct dwarf_bytes bytes, uint64_t offset)
{
	return (struct dwarf_bytes){.at = bytes.at + offset, .nr = bytes.nr - offset};
}

/* Over the bytes from `offset` on; failed when that is outside. */
static inline struct cursor dwarf_cursor_at(struct dwarf_bytes bytes, uint64_t offset)
{
	if (!bytes.at || offset > bytes.nr)
		return cursor_failed();
	return (struct cursor){.at = bytes.at + offset, .end = bytes.at + bytes.nr};
}

/* The text at an offset of a string section, or NULL. */
static inline const char *dwarf_text_at(struct dwarf_bytes bytes, uint64_t offset)
{
	struct cursor cursor = dwarf_cursor_at(bytes, offset);

	return cursor_text(&cursor);
}

#endif

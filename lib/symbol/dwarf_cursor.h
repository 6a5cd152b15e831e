/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_DWARF_CURSOR_H
#define PROFC_SYMBOL_DWARF_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A bounded reader over little-endian DWARF bytes. It is struct cursor of
 * base/buf.h with its functions inline, because a compilation unit is millions
 * of such reads. Reading past the end sets `failed`, moves to the end and
 * returns 0, so that every loop over a cursor ends.
 */
struct dwarf_bytes {
	const uint8_t *at; /* borrowed; NULL when there is no such section */
	size_t nr;
	/* The offset of a whole section in its file; 0 when it was inflated or made. */
	uint64_t file_offset;
};

struct dwarf_cursor {
	const uint8_t *at, *end;
	bool failed;
};

/* The bytes from `offset` on, which is inside. */
static inline struct dwarf_bytes dwarf_tail(struct dwarf_bytes bytes, uint64_t offset)
{
	return (struct dwarf_bytes){.at = bytes.at + offset, .nr = bytes.nr - offset};
}

/* Over no bytes at all, and not even those could be had. */
static inline struct dwarf_cursor dwarf_cursor_failed(void)
{
	static const uint8_t nothing[1];

	return (struct dwarf_cursor){.at = nothing, .end = nothing, .failed = true};
}

/* Over the bytes from `offset` on; failed when that is outside. */
static inline struct dwarf_cursor dwarf_cursor_at(struct dwarf_bytes bytes, uint64_t offset)
{
	if (!bytes.at || offset > bytes.nr)
		return dwarf_cursor_failed();
	return (struct dwarf_cursor){.at = bytes.at + offset, .end = bytes.at + bytes.nr};
}

static inline void dwarf_fail(struct dwarf_cursor *cursor)
{
	cursor->failed = true;
	cursor->at = cursor->end;
}

static inline size_t dwarf_left(const struct dwarf_cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

static inline void dwarf_skip(struct dwarf_cursor *cursor, uint64_t nr)
{
	if (nr > dwarf_left(cursor))
		dwarf_fail(cursor);
	else
		cursor->at += nr;
}

/* An unsigned number of 1 to 8 bytes. */
static inline uint64_t dwarf_fixed(struct dwarf_cursor *cursor, unsigned int nr)
{
	uint64_t value = 0;

	if (nr > dwarf_left(cursor) || nr > sizeof(value)) {
		dwarf_fail(cursor);
		return 0;
	}
	memcpy(&value, cursor->at, nr);
	cursor->at += nr;
	return value;
}

static inline uint8_t dwarf_u8(struct dwarf_cursor *cursor)
{
	if (cursor->at == cursor->end) {
		cursor->failed = true;
		return 0;
	}
	return *cursor->at++;
}

static inline uint16_t dwarf_u16(struct dwarf_cursor *cursor)
{
	return (uint16_t)dwarf_fixed(cursor, 2);
}

static inline uint32_t dwarf_u32(struct dwarf_cursor *cursor)
{
	return (uint32_t)dwarf_fixed(cursor, 4);
}

static inline uint64_t dwarf_u64(struct dwarf_cursor *cursor)
{
	return dwarf_fixed(cursor, 8);
}

/* Bits beyond the 64th are dropped, as producers may pad. */
static inline uint64_t dwarf_uleb(struct dwarf_cursor *cursor)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		if (cursor->at == cursor->end) {
			cursor->failed = true;
			return 0;
		}
		byte = *cursor->at++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

static inline int64_t dwarf_sleb(struct dwarf_cursor *cursor)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		if (cursor->at == cursor->end) {
			cursor->failed = true;
			return 0;
		}
		byte = *cursor->at++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && (byte & 0x40))
		value |= ~UINT64_C(0) << shift;
	return (int64_t)value;
}

static inline void dwarf_skip_leb(struct dwarf_cursor *cursor)
{
	while (cursor->at < cursor->end) {
		if (!(*cursor->at++ & 0x80))
			return;
	}
	cursor->failed = true;
}

/* A NUL-ended text in place; NULL and failed when it has no end. */
static inline const char *dwarf_text(struct dwarf_cursor *cursor)
{
	const uint8_t *start = cursor->at;
	const uint8_t *nul = dwarf_left(cursor) ? memchr(start, '\0', dwarf_left(cursor)) : NULL;

	if (!nul) {
		dwarf_fail(cursor);
		return NULL;
	}
	cursor->at = nul + 1;
	return (const char *)start;
}

/* The text at an offset of a string section, or NULL. */
static inline const char *dwarf_text_at(struct dwarf_bytes bytes, uint64_t offset)
{
	struct dwarf_cursor cursor = dwarf_cursor_at(bytes, offset);

	return dwarf_text(&cursor);
}

#endif

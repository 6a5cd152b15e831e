/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_CURSOR_H
#define PROFC_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A bounded reader of little-endian numbers, inline because debug information is millions of them.
 * Reading past the end sets `failed`, moves to the end and returns 0: a decoder may read a whole
 * record and check once, and every loop over a cursor ends.
 */
struct cursor {
	const uint8_t *at; /* borrowed */
	const uint8_t *end;
	bool failed;
};

static inline struct cursor cursor_over(const void *bytes, size_t nr_bytes)
{
	const uint8_t *at = bytes;

	return (struct cursor){.at = at, .end = at + nr_bytes};
}

/* Over no bytes at all, and not even those could be had. */
static inline struct cursor cursor_failed(void)
{
	static const uint8_t nothing[1];

	return (struct cursor){.at = nothing, .end = nothing, .failed = true};
}

static inline void cursor_fail(struct cursor *cursor)
{
	cursor->failed = true;
	cursor->at = cursor->end;
}

static inline size_t cursor_left(const struct cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

/* The next nr_bytes in place, or NULL and failed. */
static inline const uint8_t *cursor_bytes(struct cursor *cursor, uint64_t nr_bytes)
{
	const uint8_t *start = cursor->at;

	if (cursor->failed || nr_bytes > cursor_left(cursor)) {
		cursor_fail(cursor);
		return NULL;
	}
	cursor->at += nr_bytes;
	return start;
}

static inline void cursor_skip(struct cursor *cursor, uint64_t nr_bytes)
{
	if (nr_bytes > cursor_left(cursor))
		cursor_fail(cursor);
	else
		cursor->at += nr_bytes;
}

/* An unsigned number of 1 to 8 bytes. */
static inline uint64_t cursor_fixed(struct cursor *cursor, unsigned int nr_bytes)
{
	uint64_t value = 0;

	if (nr_bytes > cursor_left(cursor) || nr_bytes > sizeof(value)) {
		cursor_fail(cursor);
		return 0;
	}
	memcpy(&value, cursor->at, nr_bytes);
	cursor->at += nr_bytes;
	return value;
}

static inline uint8_t cursor_byte(struct cursor *cursor)
{
	if (cursor->at == cursor->end) {
		cursor->failed = true;
		return 0;
	}
	return *cursor->at++;
}

static inline uint16_t cursor_u16(struct cursor *cursor)
{
	return (uint16_t)cursor_fixed(cursor, 2);
}

static inline uint32_t cursor_u32(struct cursor *cursor)
{
	return (uint32_t)cursor_fixed(cursor, 4);
}

static inline uint64_t cursor_u64(struct cursor *cursor)
{
	return cursor_fixed(cursor, 8);
}

/* ULEB128; failed when it has over 64 bits. */
static inline uint64_t cursor_uleb(struct cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = cursor_byte(cursor);

		if (cursor->failed)
			return 0;
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	cursor_fail(cursor);
	return 0;
}

/*
 * The bits of a LEB128 number of debug information, and how many those are; no bits at the end of
 * the cursor. Bits beyond the 64th are dropped, as compilers may pad. *last is its last byte.
 */
static inline uint64_t cursor_padded_bits(struct cursor *cursor, unsigned int *nr_bits,
					  uint8_t *last)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		if (cursor->at == cursor->end) {
			cursor->failed = true;
			value = byte = 0;
			break;
		}
		byte = *cursor->at++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	*nr_bits = shift;
	*last = byte;
	return value;
}

/* ULEB128 of debug information. */
static inline uint64_t cursor_padded_uleb(struct cursor *cursor)
{
	unsigned int nr_bits;
	uint8_t last;

	return cursor_padded_bits(cursor, &nr_bits, &last);
}

/* SLEB128 of debug information: in two's complement. */
static inline int64_t cursor_padded_sleb(struct cursor *cursor)
{
	unsigned int nr_bits;
	uint8_t last;
	uint64_t value = cursor_padded_bits(cursor, &nr_bits, &last);

	if (nr_bits < 64 && (last & 0x40))
		value |= ~UINT64_C(0) << nr_bits;
	return (int64_t)value;
}

static inline void cursor_skip_leb(struct cursor *cursor)
{
	while (cursor->at < cursor->end) {
		if (!(*cursor->at++ & 0x80))
			return;
	}
	cursor->failed = true;
}

/* A signed number as zigzag ULEB128. */
static inline int64_t cursor_sleb_zigzag(struct cursor *cursor)
{
	uint64_t value = cursor_uleb(cursor);

	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* A NUL-ended text in place; NULL and failed when it has no end. */
static inline const char *cursor_text(struct cursor *cursor)
{
	const uint8_t *start = cursor->at;
	const uint8_t *nul = cursor_left(cursor) ? memchr(start, '\0', cursor_left(cursor)) : NULL;

	if (!nul) {
		cursor_fail(cursor);
		return NULL;
	}
	cursor->at = nul + 1;
	return (const char *)start;
}

#endif

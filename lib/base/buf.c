// SPDX-License-Identifier: GPL-2.0-or-later
/* Byte buffers that grow. */
#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void buf_release(struct buf *buf)
{
	free(buf->bytes);
	*buf = (struct buf){0};
}

void buf_clear(struct buf *buf)
{
	buf->nr_bytes = 0;
}

uint8_t *buf_extend(struct buf *buf, size_t nr_bytes)
{
	uint8_t *start;

	ARRAY_RESERVE(buf->bytes, buf->nr_bytes + nr_bytes, buf->cap);
	start = buf->bytes + buf->nr_bytes;
	buf->nr_bytes += nr_bytes;
	return start;
}

void buf_append(struct buf *buf, const void *bytes, size_t nr_bytes)
{
	if (nr_bytes)
		memcpy(buf_extend(buf, nr_bytes), bytes, nr_bytes);
}

void buf_append_str(struct buf *buf, const char *text)
{
	buf_append(buf, text, strlen(text));
}

void buf_append_byte(struct buf *buf, uint8_t byte)
{
	*buf_extend(buf, 1) = byte;
}

void buf_append_decimal(struct buf *buf, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	buf_append(buf, digits + at, sizeof(digits) - at);
}

void buf_printf(struct buf *buf, const char *format, ...)
{
	va_list args;
	va_list again;
	int length;

	va_start(args, format);
	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	assert(length >= 0);
	vsnprintf((char *)buf_extend(buf, (size_t)length + 1), (size_t)length + 1, format, again);
	va_end(again);
	buf->nr_bytes--; /* the NUL is not content */
}

const char *buf_str(struct buf *buf)
{
	ARRAY_RESERVE(buf->bytes, buf->nr_bytes + 1, buf->cap);
	buf->bytes[buf->nr_bytes] = '\0';
	return (const char *)buf->bytes;
}

void buf_append_u32(struct buf *buf, uint32_t value)
{
	uint8_t *out = buf_extend(buf, 4);

	for (int i = 0; i < 4; i++)
		out[i] = (uint8_t)(value >> (8 * i));
}

void buf_append_u64(struct buf *buf, uint64_t value)
{
	uint8_t *out = buf_extend(buf, 8);

	for (int i = 0; i < 8; i++)
		out[i] = (uint8_t)(value >> (8 * i));
}

void buf_append_uleb(struct buf *buf, uint64_t value)
{
	while (value >= 0x80) {
		buf_append_byte(buf, (uint8_t)(value | 0x80));
		value >>= 7;
	}
	buf_append_byte(buf, (uint8_t)value);
}

void buf_append_sleb_zigzag(struct buf *buf, int64_t value)
{
	buf_append_uleb(buf, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_BUF_H
#define PROFC_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing run of bytes. Zero-initialised is empty and ready. */
struct buf {
	uint8_t *bytes; /* owned */
	size_t nr_bytes;
	size_t cap;
};

void buf_release(struct buf *buf); /* frees; ready for use again */
void buf_clear(struct buf *buf);   /* empties, keeps the room */
void buf_append(struct buf *buf, const void *bytes, size_t nr_bytes);
void buf_append_str(struct buf *buf, const char *text); /* without its NUL */
void buf_append_byte(struct buf *buf, uint8_t byte);
void buf_append_decimal(struct buf *buf, uint64_t value); /* as printf's %lu, but quickly */
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Room for nr_bytes more, counted as content; returns where they start. */
uint8_t *buf_extend(struct buf *buf, size_t nr_bytes);
/* The content as a C string, with a NUL that is not counted. Valid until the next change. */
const char *buf_str(struct buf *buf);

/* Numbers as files hold them: little endian, ULEB128, and zigzag ULEB128 for signed ones. */
void buf_append_u32(struct buf *buf, uint32_t value);
void buf_append_u64(struct buf *buf, uint64_t value);
void buf_append_uleb(struct buf *buf, uint64_t value);
void buf_append_sleb_zigzag(struct buf *buf, int64_t value);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes fields of protocol buffers. */
#include "export/protobuf_priv.h"

#include "base/buf.h"

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_LENGTH = 2,
};

static void append_tag(struct buf *out, unsigned int field, enum wire_type type)
{
	buf_append_uleb(out, (uint64_t)field << 3 | type);
}

void protobuf_uint(struct buf *out, unsigned int field, uint64_t value)
{
	if (!value)
		return;
	append_tag(out, field, WIRE_VARINT);
	buf_append_uleb(out, value);
}

static void append_block(struct buf *out, unsigned int field, const void *bytes, size_t nr_bytes)
{
	append_tag(out, field, WIRE_LENGTH);
	buf_append_uleb(out, nr_bytes);
	buf_append(out, bytes, nr_bytes);
}

void protobuf_bytes(struct buf *out, unsigned int field, const void *bytes, size_t nr_bytes)
{
	if (nr_bytes)
		append_block(out, field, bytes, nr_bytes);
}

void protobuf_message(struct buf *out, unsigned int field, const struct buf *message)
{
	append_block(out, field, message->bytes, message->nr_bytes);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_EXPORT_PROTOBUF_PRIV_H
#define PROFC_EXPORT_PROTOBUF_PRIV_H

#include <stddef.h>
#include <stdint.h>

struct buf;

/*
 * The protocol buffer wire format, as far as profiles need it: varints, and things
 * with a length. Fields that are 0 or empty are left out, as proto3 does.
 */
void protobuf_uint(struct buf *out, unsigned int field, uint64_t value);
void protobuf_bytes(struct buf *out, unsigned int field, const void *bytes, size_t nr_bytes);
/* An embedded message or a packed repeated field, even if empty. */
void protobuf_message(struct buf *out, unsigned int field, const struct buf *message);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes UTF-8 of the characters of interpreters. */
#include "script/script_text.h"

#include <string.h>

#include "base/buf.h"

static void append_utf8(struct buf *out, uint32_t c)
{
	if (c >= 0x10000) {
		buf_append_byte(out, (uint8_t)(0xf0 | (c >> 18 & 7)));
		buf_append_byte(out, (uint8_t)(0x80 | (c >> 12 & 63)));
	} else if (c >= 0x800) {
		buf_append_byte(out, (uint8_t)(0xe0 | c >> 12));
	}
	if (c >= 0x800)
		buf_append_byte(out, (uint8_t)(0x80 | (c >> 6 & 63)));
	else if (c >= 0x80)
		buf_append_byte(out, (uint8_t)(0xc0 | c >> 6));
	buf_append_byte(out, c >= 0x80 ? (uint8_t)(0x80 | (c & 63)) : (uint8_t)c);
}

void script_text_append(struct buf *out, const uint8_t *characters, size_t nr, unsigned int width)
{
	for (size_t i = 0; i < nr; i++) {
		uint32_t c = 0;

		memcpy(&c, characters + i * width, width); /* little endian */
		if (c)
			append_utf8(out, c);
	}
}

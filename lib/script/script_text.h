/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_SCRIPT_TEXT_H
#define PROFC_SCRIPT_SCRIPT_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct buf;

/* Append characters of `width` bytes each, 1, 2 or 4, as UTF-8; zeros are left out. */
void script_text_append(struct buf *out, const uint8_t *characters, size_t nr, unsigned int width);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_EXPORT_MARKUP_PRIV_H
#define PROFC_EXPORT_MARKUP_PRIV_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct extract;

/* Text of XML and HTML, in elements and attributes. The input is valid UTF-8 without controls. */
void escape_markup(struct buf *out, const char *text);
void escape_markup_n(struct buf *out, const char *text, size_t nr_bytes);
/* Text of a target, with whatever bytes it has: as a terminal would have it, then as above. */
void escape_target_markup(struct buf *out, const char *text);

/* A weight with its unit: "1.234 s", "56.7 ms", "890 µs", "12 ns", or "34 samples". */
void markup_weight(struct buf *out, const struct extract *extract, uint64_t weight);

#endif

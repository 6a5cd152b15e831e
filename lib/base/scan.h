/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_SCAN_H
#define PROFC_BASE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reading numbers out of text that need not end in a NUL. Each function moves the position past the
 * text it took and returns false, position unchanged, when that is not there. Numbers that overflow
 * 64 bits are not there either.
 */
struct scan {
	const char *at, *end; /* borrowed */
};

bool scan_decimal(struct scan *scan, uint64_t *value);
bool scan_signed(struct scan *scan, int64_t *value); /* an optional '-' before a decimal */
bool scan_hex(struct scan *scan, uint64_t *value);   /* with or without 0x, 0X */
bool scan_char(struct scan *scan, char wanted);
void scan_blanks(struct scan *scan); /* spaces and tabs, if any */
/* The next line, without its end; false at the end of the text. */
bool scan_line(struct scan *text, struct scan *line);

#endif

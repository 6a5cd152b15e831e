/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_CPYTHON_LINE_H
#define PROFC_SCRIPT_CPYTHON_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "script/cpython_layout.h"

/*
 * The line of an instruction of a code object, from its table (CPython, Objects/lnotab_notes.txt
 * up to 3.10, then Objects/locations.md). `unit` counts units of two bytes from the first
 * instruction on; before that, as in a function that is only entered, it is the first line. 0: the
 * table gives no line. Any bytes may be given.
 */
uint32_t cpython_line(enum cpython_lines lines, const uint8_t *table, size_t nr_bytes,
		      uint32_t first_line, int64_t unit);

#endif

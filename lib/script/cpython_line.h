/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_CPYTHON_LINE_H
#define PROFC_SCRIPT_CPYTHON_LINE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The line of an instruction of a code object, from co_linetable (CPython, Objects/locations.md, as
 * of 3.11). `unit` counts units of two bytes from the first instruction on; before that, as in a
 * function that is only entered, it is the first line. 0: the table gives no line. Any bytes may be
 * given.
 */
uint32_t cpython_line(const uint8_t *table, size_t nr_bytes, uint32_t first_line, int64_t unit);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_DWARF_BYTES_H
#define PROFC_TESTS_DWARF_BYTES_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "dwarf/dwarf_file.h"

/*
 * Debug information written by hand: sections are arrays of bytes, U32() and
 * U64() spell numbers as they stand in the file.
 */
#define U16(n) (uint8_t)((n)&0xff), (uint8_t)((n) >> 8 & 0xff)
#define U32(n) U16((n)&0xffff), U16((uint32_t)(n) >> 16)
#define U64(n) U32((uint64_t)(n)&0xffffffff), U32((uint64_t)(n) >> 32)

/* The sections of a file, and the file once dwarf_made_open() was called. */
struct dwarf_made {
	struct dwarf_bytes sections[DWARF_SECTION_COUNT];
	struct dwarf_file file;
};

static inline void dwarf_made_set(struct dwarf_made *made, enum dwarf_section section,
				  const uint8_t *bytes, size_t nr)
{
	made->sections[section] = (struct dwarf_bytes){.at = bytes, .nr = nr};
}

#define DWARF_MADE_SET(made, section, array) dwarf_made_set(made, section, array, sizeof(array))

static inline void dwarf_made_open(struct dwarf_made *made)
{
	dwarf_file_init(&made->file, made->sections);
	dwarf_file_read_roots(&made->file);
}

static inline struct dwarf_unit *dwarf_made_unit(struct dwarf_made *made)
{
	assert(made->file.nr_units == 1);
	return &made->file.units[0];
}

#endif

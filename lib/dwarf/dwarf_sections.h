/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sections of debug information in an ELF file. */
#ifndef PROFC_DWARF_DWARF_SECTIONS_H
#define PROFC_DWARF_DWARF_SECTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dwarf/dwarf_file.h"

struct Elf;
struct elf_bytes;

/* The bytes of sections that were compressed in the file. */
struct inflated_sections {
	uint8_t *blocks[DWARF_SECTION_COUNT]; /* owned */
};

void inflated_sections_release(struct inflated_sections *inflated);

/*
 * The sections that the reader of debug information needs, and no others:
 * location lists, macros and types are most of a compressed file and would be
 * inflated for nothing. With `split`, those of a .dwo file. Their bytes are
 * borrowed from `elf` and from `inflated`, which must be empty before. False
 * when there is no .debug_info, or once *ended is set (NULL: never).
 */
bool dwarf_sections_read(struct Elf *elf, bool split, const atomic_bool *ended,
			 struct inflated_sections *inflated,
			 struct dwarf_bytes sections[DWARF_SECTION_COUNT]);

/* The same bytes, for the reader of debug information. */
struct dwarf_bytes dwarf_bytes_of(struct elf_bytes bytes);

#endif

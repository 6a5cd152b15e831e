/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of ELF sections, decompressed within bounds. */
#ifndef PROFC_SYMBOL_ELF_SECTION_H
#define PROFC_SYMBOL_ELF_SECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "symbol/dwarf_bytes.h"
#include "symbol/dwarf_file.h"

struct Elf;

/* The bytes of a section, decompressed; at NULL when there is none. Borrowed from `elf`. */
struct dwarf_bytes elf_section_bytes(struct Elf *elf, const char *wanted);

/* Where a section is loaded; 0 when there is none. */
uint64_t elf_section_address(struct Elf *elf, const char *wanted);
bool elf_has_section(struct Elf *elf, const char *wanted);
/* From now on it has no bytes. The file itself stays as it is. */
void elf_section_hide(struct Elf *elf, const char *wanted);

/*
 * Hide compressed sections that claim to become more than their bytes can, or than half of the
 * memory of the machine together: libdwfl would inflate them. Says whether there are any.
 */
bool elf_hide_bombs(struct Elf *elf);

/* What was inflated. */
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
bool elf_dwarf_sections(struct Elf *elf, bool split, const atomic_bool *ended,
			struct inflated_sections *inflated,
			struct dwarf_bytes sections[DWARF_SECTION_COUNT]);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections of ELF files by their names. */
#ifndef PROFC_ELF_ELF_SECTION_H
#define PROFC_ELF_ELF_SECTION_H

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>

#include "elf/elf_bytes.h"

/* The section after `section` (NULL: the first) that has a name, with its header; NULL: no more. */
Elf_Scn *elf_section_next(Elf *elf, Elf_Scn *section, GElf_Shdr *header, const char **name);
/* The first of this name, with its header; NULL: there is none. */
Elf_Scn *elf_section_named(Elf *elf, const char *wanted, GElf_Shdr *header);

/* The bytes of a section as they are in the file; empty when it has none. Borrowed from its Elf. */
struct elf_bytes elf_section_raw(Elf_Scn *section, const GElf_Shdr *header);
/* As above, by its name. */
struct elf_bytes elf_section_bytes(Elf *elf, const char *wanted);

/* From now on it has no bytes. The file itself stays as it is. */
void elf_section_hide(Elf *elf, const char *wanted);

/*
 * Hide compressed sections that claim to become more than their bytes can, or than half of the
 * memory of the machine together: libdwfl would inflate them. Says whether there are any.
 */
bool elf_hide_bombs(Elf *elf);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The extents of the functions in the symbol table of a file. */
#ifndef PROFC_ELF_ELF_FUNCTIONS_H
#define PROFC_ELF_ELF_FUNCTIONS_H

#include <libelf.h>
struct elf_ranges;

/*
 * The extents of the functions in .symtab, or .dynsym where there is none, each with
 * its start for its value; nothing is added if neither can be read.
 */
void elf_functions_load(struct elf_ranges *functions, Elf *elf);

#endif

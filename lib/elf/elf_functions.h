/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The extents of the functions in the symbol table of a file. */
#ifndef PROFC_ELF_ELF_FUNCTIONS_H
#define PROFC_ELF_ELF_FUNCTIONS_H

#include <libelf.h>
struct elf_ranges;

/*
 * Add the extents of the functions in .symtab, or without it .dynsym, each with its start as the
 * value; none is added if neither can be read.
 */
void elf_functions_load(struct elf_ranges *functions, Elf *elf);

#endif

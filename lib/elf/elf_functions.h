/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_ELF_ELF_FUNCTIONS_H
#define PROFC_ELF_ELF_FUNCTIONS_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The extents of the functions in a symbol table, by address. */
struct elf_function {
	uint64_t start, end;
};

struct elf_functions {
	struct elf_function *functions; /* owned */
	size_t nr, cap;
};

/* From .symtab, or .dynsym where there is none; nothing is added if neither can be read. */
void elf_functions_load(struct elf_functions *functions, Elf *elf);
void elf_functions_release(struct elf_functions *functions);
bool elf_functions_find(const struct elf_functions *functions, uint64_t vaddr, uint64_t *start);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of data as a loader makes them. */
#ifndef PROFC_ELF_ELF_RELOCATIONS_H
#define PROFC_ELF_ELF_RELOCATIONS_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Set those of `nr` words from `vaddr` on that a relocation of the file sets to an address within
 * the file, to that address; the others stay.
 */
void elf_relocations_apply(Elf *elf, uint64_t vaddr, uint64_t *words, size_t nr);

#endif

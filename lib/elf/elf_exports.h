/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The exported symbols of an ELF file: strip(1) does not remove them. */
#ifndef PROFC_ELF_ELF_EXPORTS_H
#define PROFC_ELF_ELF_EXPORTS_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * `fd` is the file that `elf`, NULL for none, was opened from. Set values[i] to the address in the
 * file of the symbol names[i] of .dynsym, 0 if it is not defined there. Returns how many were
 * found. Hardly any name is read if the file has hashes of them, as GNU's tools make.
 */
size_t elf_exports_find(Elf *elf, int fd, const char *const *names, size_t nr, uint64_t *values);

/* The offset of an exported thread-local variable in its module's data; false: there is none. */
bool elf_exports_find_thread_variable(Elf *elf, int fd, const char *name, uint64_t *offset);

#endif

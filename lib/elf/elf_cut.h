/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_ELF_ELF_CUT_H
#define PROFC_ELF_ELF_CUT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * ELF files inside larger ones, such as libraries mapped from an APK, and copies of files that may
 * be written to while they are needed.
 */

/* Does a 64-bit ELF file begin at that offset of the file? */
bool elf_begins_at(int fd, uint64_t offset);

/*
 * A nameless copy in memory of nr_bytes of a file from offset on: a descriptor that the caller
 * closes, or -1 if not all can be read.
 */
int elf_copy_of(int fd, uint64_t offset, uint64_t nr_bytes);

/*
 * A copy of the ELF file that begins at `offset` of a larger file, up to the end that its own
 * headers imply. A descriptor that the caller closes, or -1: none begins there, or it is larger
 * than 512 MiB.
 */
int elf_cut_out(int fd, uint64_t offset);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_ELF_ELF_HOLES_H
#define PROFC_ELF_ELF_HOLES_H

#include <stdbool.h>
#include <stdint.h>

/* Smaller parts are read in some milliseconds. */
#define ELF_HOLES_MIN (UINT64_C(16) << 20)

/*
 * Is a part of a file larger than that, and less than half
 * of it data? It costs its owner nothing, and its readers as much time and memory as they are told.
 */
bool elf_is_of_holes(int fd, uint64_t offset, uint64_t nr_bytes);

#endif

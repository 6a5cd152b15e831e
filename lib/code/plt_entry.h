/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CODE_PLT_ENTRY_H
#define PROFC_CODE_PLT_ENTRY_H

#include <stddef.h>
#include <stdint.h>

/* Entries of a PLT have at least this length, and the memory after them is mapped. */
#define PLT_ENTRY_BYTES 16

/*
 * The address of the word that the code at `address` immediately jumps through, as PLT entries for
 * another module's functions do. 0: it does not.
 */
uint64_t plt_entry_word(const uint8_t *bytes, size_t nr_bytes, uint64_t address);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_ELF_ELF_BYTES_H
#define PROFC_ELF_ELF_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* A run of an ELF file's bytes; empty when bytes is NULL. */
struct elf_bytes {
	const uint8_t *bytes;
	size_t nr_bytes;
	uint64_t vaddr; /* of the first one; 0 in sections that are not loaded */
};

#endif

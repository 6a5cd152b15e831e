/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections that zlib or zstd compressed. */
#ifndef PROFC_ELF_ELF_INFLATE_H
#define PROFC_ELF_ELF_INFLATE_H

#include <gelf.h>
#include <libelf.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Borrowed from the Elf. */
struct elf_packed {
	const uint8_t *at; /* of its stream */
	uint64_t nr, nr_inflated;
	bool is_zstd;
};

/* Is a section of this name and header compressed, by SHF_COMPRESSED or, older, as .zdebug_…? */
bool elf_is_packed(const char *name, const GElf_Shdr *header);
/* False: its header is damaged, or of another kind. */
bool elf_read_packed(Elf *elf, Elf_Scn *section, const char *name, struct elf_packed *packed);

/* All compressed sections of a file together may become so much. */
uint64_t elf_inflated_bytes_max(void);
/* Can it become as much as it claims? Else that is an attempt to exhaust memory. */
bool elf_may_inflate(const struct elf_packed *packed);

/*
 * Its nr_inflated bytes, which the caller frees; NULL when it is damaged, claims more than it may,
 * or once *ended is set (NULL: never).
 */
uint8_t *elf_inflate(const struct elf_packed *packed, const atomic_bool *ended);

#endif

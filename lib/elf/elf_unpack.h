/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decompression of sections that zlib or zstd compressed. */
#ifndef PROFC_ELF_ELF_UNPACK_H
#define PROFC_ELF_ELF_UNPACK_H

#include <gelf.h>
#include <libelf.h>
#include <stdint.h>

#include "elf/elf_bytes.h"

/*
 * The bytes of a section that is not loaded, decompressed if zlib or zstd compressed them. Empty if
 * they are damaged, more than max_bytes, or none; else the caller frees them.
 */
struct elf_bytes elf_unpack(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
			    uint64_t max_bytes);

/* As above for the older GNU form, of sections called .zdebug_…. */
struct elf_bytes elf_unpack_gnu(Elf_Scn *section, const GElf_Shdr *header, uint64_t max_bytes);

#endif

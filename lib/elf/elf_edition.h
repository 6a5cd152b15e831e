/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_ELF_ELF_EDITION_H
#define PROFC_ELF_ELF_EDITION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The fingerprint of an ELF file without a build-id, which distinguishes its versions: the FNV-1a
 * hash, 64 bits, of the build id of Go's linker if there is one, else of the first page of the
 * file, the first of its code, and all of its pages, or for a large file some at equal distances.
 */
struct elf_edition {
	uint64_t fingerprint;	/* 0: the file cannot be read */
	bool is_of_go_build_id; /* equal fingerprints mean one build, whatever the size and time */
};

/* `fd` is borrowed and open on an ELF file; its position is not used. */
struct elf_edition elf_edition_of(int fd);

#endif

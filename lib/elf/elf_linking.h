/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which libraries an ELF file is linked with. */
#ifndef PROFC_ELF_ELF_LINKING_H
#define PROFC_ELF_ELF_LINKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image;

/* Names are hashes of the last part of their paths, by elf_linking_name(). */
struct elf_linking {
	uint64_t name;		/* DT_SONAME; 0: it has none */
	bool is_never_unloaded; /* DF_1_NODELETE */
	uint64_t *needed;	/* DT_NEEDED; owned */
	size_t nr_needed, cap_needed;
};

/* Read the dynamic section of an image; all is 0 where it has none that can be read. */
void elf_linking_read(const struct elf_image *image, struct elf_linking *linking);
void elf_linking_release(struct elf_linking *linking);
uint64_t elf_linking_name(const char *path);

#endif

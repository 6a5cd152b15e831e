/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Static probes (USDT) as <sys/sdt.h> makes them: a place in the code that has a name, with an
 * instruction that does nothing, and mostly a word that says how many want it, without which the
 * program does not come there. The notes in .note.stapsdt name them; strip(1) leaves these.
 */
#ifndef PROFC_ELF_ELF_SDT_H
#define PROFC_ELF_ELF_SDT_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

/* A place of a probe. Addresses are those of the file. */
struct elf_sdt_site {
	uint64_t address;
	uint64_t semaphore;  /* of the word, of two bytes; 0: there is none */
	unsigned int number; /* which of those that are wanted it is */
};

/* No more that are wanted are believed in; one more is added. */
#define ELF_SDT_SITES_MAX 64

/* A file may have many: `wants` says which number one has; -1: it is not wanted. */
struct elf_sdt {
	int (*wants)(const void *context, const char *provider, const char *name);
	const void *context;
	struct elf_sdt_site *at; /* owned; in the order of the notes */
	size_t nr, cap;
};

/* Add those of a file; none if it has no such notes. */
void elf_sdt_load(struct elf_sdt *sdt, Elf *elf);
void elf_sdt_release(struct elf_sdt *sdt);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sections of a file that are in memory, by address. */
#ifndef PROFC_SYMBOL_CODE_SECTIONS_H
#define PROFC_SYMBOL_CODE_SECTIONS_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of a section. Borrowed. */
struct code_section {
	const uint8_t *bytes;
	uint64_t address;
	size_t nr_bytes;
	bool is_code;
};

struct code_sections {
	struct code_section *rows; /* ascending; owned */
	size_t nr, cap;
	size_t nr_entries; /* of tables of jumps, as far as these were followed */
};

/*
 * The data of a section of a file in which sections share no bytes: a file may claim that all of
 * its sections are all of it. NULL: it has none. *nr_left, at first that of code_bytes_of(), says
 * how many bytes of sections there can still be.
 */
const Elf_Data *code_section_data(Elf_Scn *section, size_t *nr_left);
size_t code_bytes_of(Elf *elf);

/* Sections at the end of the address space are left out, so that no address in one wraps. */
void code_sections_read(struct code_sections *sections, Elf *elf);
void code_sections_release(struct code_sections *sections);
/* The section that has an address, or NULL. */
const struct code_section *code_section_at(const struct code_sections *sections, uint64_t address);

#endif

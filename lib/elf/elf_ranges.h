/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_ELF_ELF_RANGES_H
#define PROFC_ELF_ELF_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ranges of addresses with a value each, for a file's functions. */
struct elf_range {
	uint64_t start, end; /* [start, end) */
	uint64_t value;
	uint64_t reach; /* once sorted: the furthest end up to this range */
};

/* Zero-initialised is ready. */
struct elf_ranges {
	struct elf_range *at; /* owned; by start once they are sorted */
	size_t nr, cap;
};

void elf_ranges_add(struct elf_ranges *ranges, struct elf_range range);
/* Call this after the last addition, and before any search. */
void elf_ranges_sort(struct elf_ranges *ranges);
/*
 * The range that contains the address; of several, the one that begins last, and of those the
 * shortest. NULL if there is none. Borrowed until the next addition.
 */
const struct elf_range *elf_ranges_range(const struct elf_ranges *ranges, uint64_t address);
/* Its value; false if there is none. */
bool elf_ranges_find(const struct elf_ranges *ranges, uint64_t address, uint64_t *value);
void elf_ranges_release(struct elf_ranges *ranges);

#endif

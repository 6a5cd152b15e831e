/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_UNWIND_CODE_ENTRIES_H
#define PROFC_UNWIND_CODE_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_reader;
struct elf_image;

/*
 * Addresses that an image's own code calls or takes, and that its data points to: most of its
 * functions begin there, even those without symbol and CFI. Some are not entries: bytes may
 * resemble a call. Zero-initialised is ready.
 */
struct code_entries {
	uint64_t *at; /* owned; sorted, each once */
	size_t nr;
	bool is_built;
};

void code_entries_release(struct code_entries *entries);

/*
 * Move *address to the last entry at or before it; false if there is none. The first call searches
 * the whole file, some milliseconds for each megabyte.
 */
bool code_entries_before(struct code_entries *entries, const struct code_reader *reader,
			 const struct elf_image *image, uint64_t *address);

#endif

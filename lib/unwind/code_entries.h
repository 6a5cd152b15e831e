/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_UNWIND_CODE_ENTRIES_H
#define PROFC_UNWIND_CODE_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_reader;
struct elf_image;

/*
 * Where an image's own code calls, or takes the address of code, and where its data points
 * into code: most of its functions begin at such a place, also where no symbol and no CFI says
 * so. Some are not entries: bytes may resemble a call. Zero-initialised is ready.
 */
struct code_entries {
	uint64_t *at; /* owned; sorted, each once */
	size_t nr, cap;
	bool is_built;
};

void code_entries_release(struct code_entries *entries);

/*
 * The last entry at or before *address, which it moves to; false if there is none. All
 * of the file is gone through on the first call, some milliseconds for each megabyte.
 */
bool code_entries_before(struct code_entries *entries, const struct code_reader *reader,
			 const struct elf_image *image, uint64_t *address);

#endif

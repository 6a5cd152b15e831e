/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_KNOWN_CODE_H
#define PROFC_PROBE_KNOWN_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/request.h"

struct elf_image;

/* Longer than any window of a probe, with the padding after it. */
#define KNOWN_CODE_BYTES 64

/*
 * What a file says of a function. It is the same in all processes that map the file, and so is read
 * once. Their memory may differ: it is compared before a probe is put in.
 */
struct known_code {
	uint8_t bytes[KNOWN_CODE_BYTES]; /* the first of the function, and what follows it */
	size_t nr_bytes;
	struct probe_callee *callees; /* owned: of direct calls and jumps out of the function */
	size_t nr_callees;
};

/* The function at an ELF virtual address. To be freed. */
struct known_code *known_code_read(const struct elf_image *image, uint64_t address,
				   uint64_t nr_bytes);
void known_code_free(struct known_code *code); /* NULL does nothing */

/*
 * Does a word at an ELF virtual address still have what the file has there, relocated by `bias` or
 * not? A word that an entry of the PLT jumps through leads to the dynamic linker until it is bound,
 * at the first call: on x86-64 by a second half of that entry, on aarch64 by code that all entries
 * have in common.
 */
bool known_code_is_unbound(const struct elf_image *image, uint64_t address, uint64_t bias,
			   uint64_t word);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the ends of functions that have symbols without a size. */
#ifndef PROFC_SYMBOL_SIZELESS_H
#define PROFC_SYMBOL_SIZELESS_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A symbol without a size: where it begins, and where at most it ends. */
struct sizeless_range {
	uint64_t start, end;
	uint64_t cut;	/* where another function begins in it, as far as calls tell; 0: nowhere */
	uint64_t clone; /* where one does that makes the system call clone(2); 0: nowhere */
};

/*
 * Find where the code of `elf` calls into the midst of one of `ranges`, which are sorted and do not
 * overlap: the first such place after each start is its cut. Addresses are the file's own and bias
 * added. x86-64 only; elsewhere nothing is found.
 */
void sizeless_find_cuts(Elf *elf, uint64_t bias, struct sizeless_range *ranges, size_t nr);

/*
 * The next bytes from *at on that are a direct call, perhaps; *at moves behind their first one, and
 * *target counts from `code` on.
 */
bool sizeless_next_call_x86_64(const uint8_t *code, size_t nr_bytes, size_t *at, int64_t *target);
/* Does a function that begins here make the system call clone(2)? */
bool sizeless_is_clone_x86_64(const uint8_t *code, size_t nr_bytes);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the ends of functions that have symbols without a size. */
#ifndef PROFC_SYMBOL_SIZELESS_H
#define PROFC_SYMBOL_SIZELESS_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A symbol without a size: its start, and its last possible end. */
struct sizeless_range {
	uint64_t start, end;
	uint64_t cut;	/* start of the first other function in it that calls show; 0: none */
	uint64_t clone; /* start of such a function with the system call clone(2); 0: none */
};

/*
 * Find calls in the code of `elf` to addresses inside `ranges`, which are sorted and do not
 * overlap. The first such target after the start of a range becomes its cut. Addresses are those of
 * the file plus `bias`. For x86-64 only; on other processors it finds none.
 */
void sizeless_find_cuts(Elf *elf, uint64_t bias, struct sizeless_range *ranges, size_t nr);

/* A walk over bytes of code: begin it with `code` and `nr_bytes`. */
struct sizeless_calls {
	const uint8_t *code;
	size_t nr_bytes;
	size_t at;	  /* of the next block that is looked at */
	size_t block;	  /* the offset of the last one, */
	uint64_t opcodes; /* and which of its bytes are still to be told of, a bit each */
};

/* Find the next bytes that may be a direct call; *target is relative to `code`. */
bool sizeless_next_call_x86_64(struct sizeless_calls *calls, int64_t *target);
/* Does the function that begins at `code` make the system call clone(2)? */
bool sizeless_is_clone_x86_64(const uint8_t *code, size_t nr_bytes);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Thunks at the entry of a function that do more than count. */
#ifndef PROFC_PATCH_ENTRY_PRELUDE_H
#define PROFC_PATCH_ENTRY_PRELUDE_H

#include <stddef.h>
#include <stdint.h>

#include "patch/patch.h"

#define PATCH_PRELUDE_MAX_BYTES	     128
#define PATCH_PRELUDE_MAX_REFERENCES 4

/* Four bytes of an instruction: the distance from its end to `target`. */
struct patch_reference {
	uint8_t at, end; /* offsets in the prelude */
	uint64_t target;
};

/*
 * Code of the thunk before the function's own first instructions. It must preserve the stack, and
 * all registers that the function or its caller may use.
 */
struct patch_prelude {
	uint8_t bytes[PATCH_PRELUDE_MAX_BYTES];
	uint8_t nr_bytes;
	uint8_t entry; /* offset of the first instruction to be executed */
	uint8_t nr_references;
	struct patch_reference references[PATCH_PRELUDE_MAX_REFERENCES];
};

/* As patch_entry(); steps[1] of the patch is the function's first instruction in the thunk. */
enum patch_outcome patch_entry_behind(struct patch *patch, const struct patch_function *function,
				      const struct branches *branches, struct code_area *area,
				      const struct patch_prelude *prelude);

#endif

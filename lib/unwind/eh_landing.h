/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the call whose exceptions land at an address. */
#ifndef PROFC_UNWIND_EH_LANDING_H
#define PROFC_UNWIND_EH_LANDING_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/module_cfi.h"

/* A place where exceptions land. Addresses are the image's own. */
struct eh_landing {
	struct module_cfi *cfi;
	const struct code_reader *code;
	uint64_t pc;
	/* Where the function stood that was called, and let the exception through; 0: unknown. */
	uint64_t callee_pc;
	bool callee_is_elsewhere; /* in another module: known by that alone */
};

/* How many calls there are whose exceptions land at a place. */
enum eh_landing_calls {
	EH_LANDING_NONE, /* it is no such place, as far as anybody can tell */
	EH_LANDING_ONE,
	EH_LANDING_SEVERAL,
};

/*
 * The return address of the call whose exceptions land at landing->pc, if by the function's
 * table and its code there is one only. Who lands has its address written over the
 * return address.
 */
enum eh_landing_calls eh_landing_call(const struct eh_landing *landing, uint64_t *return_address);

#endif

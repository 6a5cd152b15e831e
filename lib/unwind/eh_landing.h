/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the call from which exceptions land at an address. */
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
	/* The pc of the function that was called and propagated the exception; 0: unknown. */
	uint64_t callee_pc;
	bool callee_is_elsewhere; /* in another module; no more is known of it */
};

/* The number of calls from which exceptions land at a place. */
enum eh_landing_calls {
	EH_LANDING_NONE, /* no call known */
	EH_LANDING_ONE,
	EH_LANDING_SEVERAL,
};

/*
 * The return address of the call from which exceptions land at landing->pc, if the function's table
 * and code have only one such call. The unwinder writes the address of the landing pad over the
 * return address.
 */
enum eh_landing_calls eh_landing_call(const struct eh_landing *landing, uint64_t *return_address);

#endif

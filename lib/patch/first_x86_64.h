/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PATCH_FIRST_X86_64_H
#define PROFC_PATCH_FIRST_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The first instruction of a function, if the function's probe can come after it: it is executed
 * before the probe then, in its place. Where other tools set a breakpoint, as uprobes are, the
 * kernel executes the instruction that the file has there, and goes on after it: with the probe.
 */
struct first_instruction {
	size_t nr_bytes;
	uint32_t lowers_by; /* so many bytes, the stack pointer */
	/*
	 * With the stack pointer raised again it has only set flags, or a register that it does not
	 * read: it is executed again after the probe's code, which finds all as at the entry.
	 */
	bool is_repeated;
	/*
	 * The same holds for code that may call the function as its caller does: arguments, and the
	 * registers that callees keep, are as at the entry.
	 */
	bool can_repeat;
};

/* False: it cannot. `bytes` are those of the function, and perhaps what follows it. */
bool first_instruction_stays(const uint8_t *bytes, size_t nr_bytes,
			     struct first_instruction *first);

#endif

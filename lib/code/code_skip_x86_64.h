/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds jumps, branches and calls in code, several times as fast as code_decode(). */
#ifndef PROFC_CODE_CODE_SKIP_X86_64_H
#define PROFC_CODE_CODE_SKIP_X86_64_H

#include <stddef.h>
#include <stdint.h>

/* In an offset that is found: bytes that are no known instruction. */
#define CODE_IS_UNKNOWN (UINT32_C(1) << 31)
#define CODE_FOUND_MAX	1024

/* Code that is gone through from one instruction to the next. Offsets are below 2 GiB. */
struct code_lane {
	size_t at, end; /* offsets: of the next instruction, and of where others are not wanted */
	/*
	 * Offsets of all direct jumps, branches and calls, of all CODE_EFFECT_JUMP_GOT, and of some
	 * more instructions, by rising offsets. After unknown bytes the next instruction is looked
	 * for at the next byte.
	 */
	uint32_t found[CODE_FOUND_MAX + 1];
	size_t nr_found;
};

/* Lanes are gone through side by side, which takes hardly longer than one. */
#define CODE_LANES 4

/*
 * Go on with all lanes until one of them is at its end, or full; one that is at its end already is
 * left alone, but one is not. All nr_bytes can be read.
 */
void code_find_leads(const uint8_t *bytes, size_t nr_bytes, struct code_lane *lanes);

#endif

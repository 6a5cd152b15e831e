/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoder of A64 instructions, for unwinding. */
#ifndef PROFC_CODE_CODE_AARCH64_H
#define PROFC_CODE_CODE_AARCH64_H

#include <stdbool.h>
#include <stdint.h>

#define A64_INSTRUCTION_BYTES 4
#define A64_NO_REG	      0xff

/* The effect of an A64 instruction on the flow of control, or on a register. */
enum a64_effect {
	A64_EFFECT_NONE,
	A64_EFFECT_ADD,	   /* reg[0] = base + offset; 31 is the stack pointer in both */
	A64_EFFECT_SET,	   /* reg[0] = something else; 31 is the stack pointer */
	A64_EFFECT_RETURN, /* by x30 */
	A64_EFFECT_JUMP,   /* to `target` */
	A64_EFFECT_BRANCH, /* to `target`, or to the next instruction */
	A64_EFFECT_CALL,   /* of `target`; 0: through a register */
	A64_EFFECT_LEAVE,  /* to another function, as PLTs do */
	A64_EFFECT_HALT,   /* brk, udf: control ends */
	A64_EFFECT_STOP,   /* control goes to an unknown place */
};

struct a64_instruction {
	enum a64_effect effect;
	uint64_t target; /* address */
	/*
	 * Loads and stores of one general register or two; A64_NO_REG: none. Where the address
	 * is known (is_access) it is base + offset, and the base moves by moves_base, too.
	 */
	uint8_t reg[2];
	bool is_load, is_access;
	bool is_word; /* each of 8 bytes */
	uint8_t base;
	int64_t offset, moves_base;
};

/* All words are instructions; those of no interest have no effect (Arm ARM C4.1). */
void a64_decode(uint32_t word, uint64_t address, struct a64_instruction *out);

/* Is it adrp? Then *page is the address that its register gets. */
bool a64_page(uint32_t word, uint64_t address, uint64_t *page);

#endif

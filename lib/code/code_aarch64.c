// SPDX-License-Identifier: GPL-2.0-or-later
/* Decoder for the A64 instructions that matter to unwinding. */
#include "code/code_aarch64.h"

enum { X16 = 16, X17 = 17, X29 = 29, X30 = 30, SP = 31 };

/* Bits [low, low + nr) of an instruction, and the same as a signed number. */
static uint32_t bits(uint32_t word, unsigned int low, unsigned int nr)
{
	return word >> low & ((UINT32_C(1) << nr) - 1);
}

static int64_t signed_bits(uint32_t word, unsigned int low, unsigned int nr)
{
	int64_t value = bits(word, low, nr);

	return value >= INT64_C(1) << (nr - 1) ? value - (INT64_C(1) << nr) : value;
}

static bool matches(uint32_t word, uint32_t mask, uint32_t value)
{
	return (word & mask) == value;
}

/* C4.1.66, "Branches, Exception Generating and System instructions". */
static bool decode_branch(uint32_t word, uint64_t address, struct a64_instruction *out)
{
	if (matches(word, 0x7c000000, 0x14000000)) { /* b, bl */
		out->effect = word >> 31 ? A64_EFFECT_CALL : A64_EFFECT_JUMP;
		out->target = address + (uint64_t)(signed_bits(word, 0, 26) * 4);
	} else if (matches(word, 0xff000000, 0x54000000) || /* b.cond, bc.cond */
		   matches(word, 0x7e000000, 0x34000000)) { /* cbz, cbnz */
		out->effect = A64_EFFECT_BRANCH;
		out->target = address + (uint64_t)(signed_bits(word, 5, 19) * 4);
	} else if (matches(word, 0x7e000000, 0x36000000)) { /* tbz, tbnz */
		out->effect = A64_EFFECT_BRANCH;
		out->target = address + (uint64_t)(signed_bits(word, 5, 14) * 4);
	} else if (word == 0xd65f03c0 || word == 0xd65f0bff || word == 0xd65f0fff) {
		out->effect = A64_EFFECT_RETURN; /* ret, retaa, retab */
	} else if (matches(word, 0xfffffc1f, 0xd63f0000) || matches(word, 0xfefff800, 0xd63f0800)) {
		out->effect = A64_EFFECT_CALL; /* blr, blraa and the like */
	} else if (matches(word, 0xfffffc1f, 0xd61f0000) || matches(word, 0xfefff800, 0xd61f0800)) {
		/* br: through the registers that the ABI leaves to linkers, to another function */
		bool leaves = bits(word, 5, 5) == X16 || bits(word, 5, 5) == X17;

		out->effect = leaves ? A64_EFFECT_LEAVE : A64_EFFECT_STOP;
	} else if (matches(word, 0xfe000000, 0xd6000000)) { /* returns elsewhere, eret, drps */
		out->effect = A64_EFFECT_STOP;
	} else if (matches(word, 0xffe0001f, 0xd4200000) || !(word >> 16)) { /* brk, udf */
		out->effect = A64_EFFECT_HALT;
	} else {
		return false;
	}
	return true;
}

/* How an access moves its base register. */
enum indexing {
	INDEXING_NONE,
	INDEXING_POST,
	INDEXING_PRE,
};

static void access(struct a64_instruction *out, uint32_t word, enum indexing indexing,
		   int64_t offset)
{
	unsigned int base = bits(word, 5, 5);

	out->is_access = true;
	out->base = (uint8_t)base;
	out->offset = indexing == INDEXING_POST ? 0 : offset;
	out->moves_base = indexing == INDEXING_NONE ? 0 : offset;
}

/* ldp, stp and their like: C4.1.88, "Load/store register pair". */
static void decode_pair(uint32_t word, struct a64_instruction *out)
{
	static const enum indexing by_mode[] = {INDEXING_NONE, INDEXING_POST, INDEXING_NONE,
						INDEXING_PRE};
	bool is_vector = bits(word, 26, 1);
	unsigned int size = bits(word, 30, 2);
	int64_t scale = is_vector ? INT64_C(4) << size : size == 2 ? 8 : 4;

	access(out, word, by_mode[bits(word, 23, 2)], signed_bits(word, 15, 7) * scale);
	out->is_load = bits(word, 22, 1);
	out->is_word = !is_vector && size == 2;
	if (is_vector)
		return;
	out->reg[0] = (uint8_t)bits(word, 0, 5);
	out->reg[1] = (uint8_t)bits(word, 10, 5);
}

/* ldr, str and their like. */
static void decode_single(uint32_t word, struct a64_instruction *out)
{
	static const enum indexing by_mode[] = {INDEXING_NONE, INDEXING_POST, INDEXING_NONE,
						INDEXING_PRE};
	bool is_vector = bits(word, 26, 1);
	unsigned int size = bits(word, 30, 2);
	unsigned int kind = bits(word, 22, 2);

	if (bits(word, 24, 1)) /* an offset of 12 bits, by the size of the word */
		access(out, word, INDEXING_NONE, (int64_t)bits(word, 10, 12) << size);
	else if (!bits(word, 21, 1))
		access(out, word, by_mode[bits(word, 10, 2)], signed_bits(word, 12, 9));
	out->is_load = kind != 0;
	out->is_word = out->is_access && !is_vector && size == 3 && kind < 2;
	if (!is_vector)
		out->reg[0] = (uint8_t)bits(word, 0, 5);
}

static void decode_memory(uint32_t word, struct a64_instruction *out)
{
	if (matches(word, 0x3a000000, 0x28000000)) {
		decode_pair(word, out);
	} else if (matches(word, 0x3a000000, 0x38000000)) {
		decode_single(word, out);
	} else {
		/* literals, exclusives, atomics: some load */
		out->is_load = true;
		if (!bits(word, 26, 1))
			out->reg[0] = (uint8_t)bits(word, 0, 5);
	}
}

static void decode_data(uint32_t word, struct a64_instruction *out)
{
	bool adds = matches(word, 0xbf800000, 0x91000000); /* 64 bits, an immediate, no flags */
	uint8_t to = (uint8_t)bits(word, 0, 5);

	if (matches(word, 0xffff0000, 0xdac10000)) /* pacia and its like: the same address */
		return;
	if (adds) {
		out->effect = A64_EFFECT_ADD;
		out->reg[0] = to;
		out->base = (uint8_t)bits(word, 5, 5);
		out->offset = (int64_t)bits(word, 10, 12) << (bits(word, 22, 1) ? 12 : 0);
		if (bits(word, 30, 1))
			out->offset = -out->offset;
		return;
	}
	/*
	 * Register 31 is the stack pointer in add and sub of an extended register, and, orr, eor.
	 */
	if (to == SP && !matches(word, 0xbfe00000, 0x8b200000) &&
	    (!matches(word, 0x9f800000, 0x92000000) || bits(word, 29, 2) == 3))
		return;
	out->effect = A64_EFFECT_SET;
	out->reg[0] = to;
}

void a64_decode(uint32_t word, uint64_t address, struct a64_instruction *out)
{
	unsigned int group = bits(word, 25, 4);

	*out = (struct a64_instruction){.effect = A64_EFFECT_NONE, .reg = {A64_NO_REG, A64_NO_REG}};
	if (decode_branch(word, address, out))
		return;
	if ((group & 5) == 4)
		decode_memory(word, out);
	else if ((group & 0xe) == 8 || (group & 7) == 5)
		decode_data(word, out);
}

bool a64_page(uint32_t word, uint64_t address, uint64_t *page)
{
	int64_t pages = signed_bits(word, 5, 19) * 4 + bits(word, 29, 2);

	*page = (address & ~UINT64_C(4095)) + (uint64_t)(pages * 4096);
	return matches(word, 0x9f000000, 0x90000000);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/code_pointers.h"

#if defined(__aarch64__)

#include <string.h>

#include "code/code_aarch64.h"

/* The addresses that registers have, where these are fixed. */
struct addresses {
	uint64_t value[32];
	bool is_known[32];
};

static void set(struct addresses *addresses, uint8_t reg, bool is_known, uint64_t value)
{
	if (reg == A64_NO_REG)
		return;
	addresses->is_known[reg] = is_known;
	addresses->value[reg] = value;
}

static void forget_all(struct addresses *addresses)
{
	memset(addresses->is_known, 0, sizeof(addresses->is_known));
}

/* The words that it loads go to *words, which has room for one of each register. */
static size_t follow(struct addresses *addresses, const struct a64_instruction *instruction,
		     uint64_t *words)
{
	uint64_t base = addresses->value[instruction->base] + (uint64_t)instruction->offset;
	bool is_known = addresses->is_known[instruction->base];
	size_t nr = 0;

	if (instruction->effect == A64_EFFECT_ADD) {
		set(addresses, instruction->reg[0], is_known, base);
		return 0;
	}
	if (instruction->is_access && instruction->is_word && instruction->is_load && is_known) {
		words[nr++] = base;
		if (instruction->reg[1] != A64_NO_REG)
			words[nr++] = base + sizeof(uint64_t);
	}
	if (instruction->is_access && instruction->moves_base)
		set(addresses, instruction->base, false, 0);
	if (instruction->is_load || instruction->effect == A64_EFFECT_SET) {
		set(addresses, instruction->reg[0], false, 0);
		set(addresses, instruction->reg[1], false, 0);
	}
	return nr;
}

static bool goes_on(enum a64_effect effect)
{
	return effect == A64_EFFECT_NONE || effect == A64_EFFECT_ADD || effect == A64_EFFECT_SET ||
	       effect == A64_EFFECT_BRANCH;
}

size_t code_used_words(const struct code_bytes *code, uint64_t *words, size_t cap)
{
	struct addresses addresses = {.is_known = {false}};
	size_t nr = 0;

	for (size_t at = 0; at + A64_INSTRUCTION_BYTES <= code->nr_bytes && nr < cap;
	     at += A64_INSTRUCTION_BYTES) {
		struct a64_instruction instruction;
		uint64_t address = code->address + at, page, loaded[2];
		size_t nr_loaded;
		uint32_t word;

		memcpy(&word, code->bytes + at, sizeof(word));
		if (a64_page(word, address, &page)) {
			set(&addresses, word & 0x1f, true, page);
			continue;
		}
		a64_decode(word, address, &instruction);
		if (!goes_on(instruction.effect)) {
			forget_all(&addresses);
			continue;
		}
		nr_loaded = follow(&addresses, &instruction, loaded);
		for (size_t i = 0; i < nr_loaded && nr < cap; i++)
			words[nr++] = loaded[i];
	}
	return nr;
}

/* Where the value of a register comes from. */
enum origin {
	ORIGIN_UNKNOWN,
	ORIGIN_FIXED, /* a fixed address */
	ORIGIN_WORD,  /* an address from a word with a fixed address */
};

static bool loads_at(const struct a64_instruction *instruction, const enum origin *origins,
		     uint32_t offset)
{
	bool is_pair = instruction->reg[1] != A64_NO_REG;

	return instruction->is_access && instruction->is_word && instruction->is_load &&
	       origins[instruction->base] == ORIGIN_WORD &&
	       (instruction->offset == offset ||
		(is_pair && instruction->offset + (int64_t)sizeof(uint64_t) == offset));
}

static void follow_origins(enum origin origins[32], const struct a64_instruction *instruction)
{
	enum origin base = origins[instruction->base], new = ORIGIN_UNKNOWN;

	if (instruction->effect == A64_EFFECT_ADD && base == ORIGIN_FIXED)
		new = base;
	else if (instruction->is_access && instruction->is_word && base == ORIGIN_FIXED)
		new = ORIGIN_WORD;
	if (instruction->is_access && instruction->moves_base)
		origins[instruction->base] = ORIGIN_UNKNOWN;
	if (instruction->effect == A64_EFFECT_NONE && !instruction->is_load)
		return;
	for (size_t i = 0; i < 2; i++) {
		if (instruction->reg[i] != A64_NO_REG)
			origins[instruction->reg[i]] = new;
	}
}

bool code_uses_offset(const struct code_bytes *code, uint32_t offset)
{
	enum origin origins[32] = {ORIGIN_UNKNOWN};

	for (size_t at = 0; at + A64_INSTRUCTION_BYTES <= code->nr_bytes;
	     at += A64_INSTRUCTION_BYTES) {
		struct a64_instruction instruction;
		uint64_t page;
		uint32_t word;

		memcpy(&word, code->bytes + at, sizeof(word));
		if (a64_page(word, code->address + at, &page)) {
			origins[word & 0x1f] = ORIGIN_FIXED;
			continue;
		}
		a64_decode(word, code->address + at, &instruction);
		if (loads_at(&instruction, origins, offset))
			return true;
		if (goes_on(instruction.effect))
			follow_origins(origins, &instruction);
		else
			memset(origins, 0, sizeof(origins));
	}
	return false;
}

/* Linux lets processors ignore the highest byte of addresses of programs: branches take it away. */
#define TAG (UINT64_C(1) << 56)

uint64_t code_other_pointer(uint64_t function, const uint8_t *bytes, size_t nr_bytes)
{
	(void)bytes;
	(void)nr_bytes;
	return function | TAG;
}

/* All copies can be passed by. */
bool code_compares_with(const struct code_bytes *code, uint64_t function)
{
	(void)code;
	(void)function;
	return false;
}

#endif

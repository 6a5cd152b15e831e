// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ways out of a function of aarch64. Each is one instruction, and a probe replaces no other.
 * Jumps through registers may be ways out or not: their probes find that out (patch_exit()), so
 * that no table of jumps has to be read.
 */
#include "patch/gate_priv.h"

#if defined(__aarch64__)

#include <string.h>

#include "base/alloc.h"
#include "code/code_aarch64.h"

#define WORD_BYTES sizeof(uint32_t)
#define NOP	   UINT32_C(0xd503201f)

static bool matches(uint32_t word, uint32_t mask, uint32_t value)
{
	return (word & mask) == value;
}

/* Branches that a64_decode() does not know, and returns from exceptions. */
static bool is_odd_branch(uint32_t word)
{
	return matches(word, 0xff000000, 0x55000000) || /* retaasppc */
	       matches(word, 0x7e000000, 0x74000000) || /* cb<cc> */
	       matches(word, 0xffdf0000, 0xd69f0000);	/* eret, drps */
}

static bool is_register_branch(uint32_t word)
{
	return matches(word, 0xfffffc1f, 0xd61f0000) || matches(word, 0xfefff800, 0xd61f0800);
}

/* ldr, ldrsw and prfm of an address relative to the instruction. */
static bool loads_from(uint32_t word, uint64_t address, uint64_t *from)
{
	int64_t distance = (int64_t)((uint64_t)(word >> 5 & 0x7ffff) << 45) >> 43;

	*from = address + (uint64_t)distance;
	return matches(word, 0x3b000000, 0x18000000);
}

static uint32_t word_of(const struct gate_code *code, size_t at)
{
	uint32_t word;

	memcpy(&word, code->bytes + at, sizeof(word));
	return word;
}

/* The code of a part without the padding after it; 0: there is none. */
static size_t bytes_of(const struct gate_code *code)
{
	size_t nr_bytes = (size_t)(code->end - code->start);

	while (nr_bytes >= WORD_BYTES && (word_of(code, nr_bytes - WORD_BYTES) == NOP ||
					  word_of(code, nr_bytes - WORD_BYTES) == 0))
		nr_bytes -= WORD_BYTES;
	return nr_bytes;
}

static bool is_landing_pad(uint32_t word)
{
	return matches(word, 0xffffff3f, 0xd503241f) || matches(word, 0xffffffbf, 0xd503233f);
}

/* Has it the instruction that the probe of the entry replaces? */
static bool is_entry(const struct gate_code *code, size_t at)
{
	return code->is_entered &&
	       at == (is_landing_pad(word_of(code, 0)) ? WORD_BYTES : (size_t)0);
}

/* The flow of control after an instruction that does not go on to the next one alone. */
static const char *judge(const struct gate_search *search, const struct gate_code *code, size_t at,
			 bool *is_exit)
{
	uint64_t address = code->start + at, from;
	uint32_t word = word_of(code, at);
	struct a64_instruction instruction;

	*is_exit = false;
	a64_decode(word, address, &instruction);
	if (is_odd_branch(word) || !(word >> 16)) /* udf, as numbers among the code look */
		return "it has an instruction that profc does not know";
	if (loads_from(word, address, &from) && gate_has(search, from))
		return "there is data among its code";
	switch (instruction.effect) {
	case A64_EFFECT_JUMP:
	case A64_EFFECT_BRANCH:
		*is_exit = !gate_has(search, instruction.target);
		if (*is_exit && !gate_is_function(search, instruction.target))
			return "it jumps to code that is not a known function";
		break;
	case A64_EFFECT_RETURN:
	case A64_EFFECT_LEAVE:
	case A64_EFFECT_STOP:
		*is_exit = true;
		if (is_register_branch(word) && search->nr > GATE_PARTS_MAX)
			return "a jump in it goes through a register, and its code is in too many "
			       "parts";
		break;
	default:
		break;
	}
	return *is_exit && is_entry(code, at) ? "it is too short for a probe on either side" : NULL;
}

/* Does it continue into the code after it? A call at its end does not return. */
static bool runs_on(const struct gate_code *code, size_t nr_bytes)
{
	struct a64_instruction last;

	a64_decode(word_of(code, nr_bytes - WORD_BYTES), 0, &last);
	return last.effect == A64_EFFECT_NONE || last.effect == A64_EFFECT_ADD ||
	       last.effect == A64_EFFECT_SET || last.effect == A64_EFFECT_BRANCH;
}

static const char *find_exits_of(const struct gate_search *search, const struct gate_code *code,
				 struct gate_exits *exits)
{
	const char *why = NULL;
	size_t nr_bytes;

	if (code->end <= code->start)
		return "its size is not known";
	if (code->end - code->start > code->nr_bytes || code->start % WORD_BYTES ||
	    code->end % WORD_BYTES)
		return "it has an instruction that profc does not know";
	nr_bytes = bytes_of(code);
	if (!nr_bytes || runs_on(code, nr_bytes))
		return "it continues into the code after it";
	for (size_t at = 0; at < nr_bytes && !why; at += WORD_BYTES) {
		bool is_exit;

		why = judge(search, code, at, &is_exit);
		if (why || !is_exit)
			continue;
		ARRAY_GROW(exits->at, exits->nr, exits->cap);
		exits->at[exits->nr++] =
			(struct gate_exit){.address = code->start + at, .nr_bytes = WORD_BYTES};
	}
	return why;
}

const char *gate_exits_find(const struct gate_search *search, struct gate_exits *exits)
{
	const char *why = NULL;

	for (size_t i = 0; i < search->nr && !why; i++)
		why = find_exits_of(search, &search->code[i], exits);
	return why;
}

#endif

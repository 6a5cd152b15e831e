// SPDX-License-Identifier: GPL-2.0-or-later
#include "patch/branches.h"

#include <string.h>

#if defined(__x86_64__)

#include "base/minmax.h"
#include "code/code_x86_64.h"

static bool leads_somewhere(const struct code_instruction *code)
{
	return code->target &&
	       (code->effect == CODE_EFFECT_JUMP || code->effect == CODE_EFFECT_BRANCH ||
		code->effect == CODE_EFFECT_CALL);
}

struct code {
	struct branches *branches;
	const uint8_t *bytes;
	uint64_t address, end; /* of the first byte, and after the last */
	uint64_t decoded_end;  /* all up to here that is of interest was decoded */
	branches_jump *tell;
	void *context;
};

static bool is_jump(const struct code_instruction *code)
{
	return code->effect == CODE_EFFECT_JUMP || code->effect == CODE_EFFECT_BRANCH ||
	       code->effect == CODE_EFFECT_JUMP_GOT;
}

/*
 * A decoder that begins at a wrong byte is back in step within a few instructions: at the latest,
 * here, where a function begins.
 */
static void decode(struct code *code, uint64_t from, uint64_t to)
{
	uint64_t start = branches_last_start(code->branches, from);
	uint64_t next_start = branches_next_start(code->branches, from), step;
	bool is_known = true; /* all of the function up to here */

	for (uint64_t at = from; at < to; at += min_u64(step, next_start - at)) {
		struct code_instruction instruction;

		step = 1;
		if (at >= next_start) {
			start = next_start;
			next_start = branches_next_start(code->branches, at);
			is_known = true;
		}
		if (!code_decode(code->bytes + (at - code->address), (size_t)(code->end - at), at,
				 &instruction)) {
			is_known = false;
			continue;
		}
		step = instruction.nr_bytes;
		if (is_known && code->tell && is_jump(&instruction))
			code->tell(code->context, at, step, instruction.target);
		if (leads_somewhere(&instruction) &&
		    !branches_ignore(code->branches, start, next_start, instruction.target))
			branches_add(code->branches, at, instruction.target,
				     instruction.effect == CODE_EFFECT_CALL);
	}
	code->decoded_end = to;
}

/* Decode the functions of [from, to), unless that has been done. */
static void decode_functions(struct code *code, uint64_t from, uint64_t to)
{
	uint64_t start, end;

	if (from < code->address)
		from = code->address;
	to = min_u64(to, code->end);
	if (from >= to)
		return;
	start = branches_last_start(code->branches, from);
	end = min_u64(branches_next_start(code->branches, to - 1), code->end);
	if (start < code->address)
		start = code->address;
	if (start < code->decoded_end)
		start = code->decoded_end;
	if (start < end)
		decode(code, start, end);
}

#define LONG_OFFSET_BYTES 4
/* A short branch ends at most so far from its target, and is not longer. */
#define SHORT_REACH 144

/*
 * The bytes of an opcode that ends before an offset of four bytes, as that of a call, a jump, a
 * branch or an xbegin; 0: these are no such bytes. An xbegin with an offset of two bytes is not
 * looked for: no compiler makes one.
 */
static size_t opcode_bytes(const uint8_t *offset, size_t nr_before)
{
	if (nr_before >= 1 && (offset[-1] == 0xe8 || offset[-1] == 0xe9))
		return 1;
	if (nr_before >= 2 && ((offset[-2] == 0x0f && (offset[-1] & 0xf0) == 0x80) ||
			       (offset[-2] == 0xc7 && offset[-1] == 0xf8)))
		return 2;
	return 0;
}

/*
 * Do bytes of [from, to) look like a branch that is to be kept? Their address, or `to`. Any four
 * bytes may be an offset; nearly none lead to where places are, so that is asked first.
 */
static uint64_t find_likely(const struct code *code, uint64_t from, uint64_t to)
{
	uint64_t nr_bytes = code->end - code->address, end = to - code->address + 2, lowest, span;
	size_t nr_places;
	const uint64_t *places = branches_places(code->branches, &nr_places);

	if (!nr_places || nr_bytes < LONG_OFFSET_BYTES)
		return to;
	lowest = places[0];
	span = places[nr_places - 1] + branches_near_bytes - lowest;
	end = min_u64(end, nr_bytes - LONG_OFFSET_BYTES + 1);
	for (uint64_t i = from - code->address + 1; i < end; i++) {
		uint64_t target = code->address + i + LONG_OFFSET_BYTES;
		size_t nr_opcode;
		int32_t offset;

		memcpy(&offset, code->bytes + i, sizeof(offset));
		target += (uint64_t)(int64_t)offset;
		if (target - lowest >= span)
			continue;
		nr_opcode = opcode_bytes(code->bytes + i, i - (from - code->address));
		if (nr_opcode && code->address + i - nr_opcode < to &&
		    branches_keep(code->branches, target))
			return code->address + i - nr_opcode;
	}
	return to;
}

/* Decode the functions with bytes that may be branches to be kept: few, where few are. */
static void decode_likely(struct code *code, uint64_t from, uint64_t to)
{
	uint64_t at = from;

	while ((at = find_likely(code, at, to)) < to) {
		decode_functions(code, at, at + 1);
		at++;
		if (at < code->decoded_end)
			at = code->decoded_end;
	}
}

void branches_add_code(struct branches *branches, uint64_t address, const uint8_t *bytes,
		       size_t nr_bytes)
{
	struct code code = {.branches = branches,
			    .bytes = bytes,
			    .address = address,
			    .end = address + nr_bytes,
			    .decoded_end = address};
	size_t nr_places;
	const uint64_t *places = branches_places(branches, &nr_places);

	code.tell = branches_teller(branches, &code.context);
	if (!places) {
		decode(&code, address, code.end);
		return;
	}
	for (size_t i = 0; i < nr_places; i++) {
		uint64_t from = places[i] > SHORT_REACH ? places[i] - SHORT_REACH : 0;
		uint64_t to = places[i] + branches_near_bytes + SHORT_REACH;

		if (to <= code.decoded_end || from >= code.end)
			continue;
		decode_likely(&code, code.decoded_end, min_u64(from, code.end));
		decode_functions(&code, from, to);
	}
	decode_likely(&code, code.decoded_end, code.end);
}

#endif

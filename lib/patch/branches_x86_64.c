// SPDX-License-Identifier: GPL-2.0-or-later
#include "patch/branches.h"

#include <string.h>

#if defined(__x86_64__)

#include <emmintrin.h>

#include "base/minmax.h"
#include "code/code_skip_x86_64.h"
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

/* Skip instructions up to `to` that do not matter here. */
static uint64_t skip(const struct code *code, uint64_t at, uint64_t to)
{
	uint64_t end = min_u64(to, code->end - CODE_INSTRUCTION_MAX_BYTES);

	if (at >= end || code->end - code->address < CODE_INSTRUCTION_MAX_BYTES)
		return at;
	return code->address +
	       code_skip(code->bytes, (size_t)(at - code->address), (size_t)(end - code->address));
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
		at = min_u64(skip(code, at, min_u64(to, next_start)), next_start);
		if (at >= to || at == next_start) {
			step = 0;
			continue;
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

/* A short branch ends at most so far from its target, and is not longer. */
#define SHORT_REACH 144

/* The bytes of an opcode before the offset of a call, jump, branch or xbegin. */
static size_t opcode_bytes(const uint8_t *opcode)
{
	return opcode[0] == 0xe8 || opcode[0] == 0xe9 ? 1 : 2;
}

/*
 * Which of 16 bytes begin such an opcode? The byte after them is read, too. An xbegin with an
 * offset of two bytes is not looked for: no compiler makes one.
 */
static unsigned int find_opcodes(const uint8_t *bytes)
{
	const __m128i first = _mm_loadu_si128((const __m128i_u *)bytes);
	const __m128i second = _mm_loadu_si128((const __m128i_u *)(bytes + 1));
	const __m128i is_near = _mm_cmpeq_epi8(_mm_and_si128(first, _mm_set1_epi8((char)0xfe)),
					       _mm_set1_epi8((char)0xe8));
	const __m128i is_branch =
		_mm_and_si128(_mm_cmpeq_epi8(first, _mm_set1_epi8(0x0f)),
			      _mm_cmpeq_epi8(_mm_and_si128(second, _mm_set1_epi8((char)0xf0)),
					     _mm_set1_epi8((char)0x80)));
	const __m128i is_xbegin = _mm_and_si128(_mm_cmpeq_epi8(first, _mm_set1_epi8((char)0xc7)),
						_mm_cmpeq_epi8(second, _mm_set1_epi8((char)0xf8)));

	return (unsigned int)_mm_movemask_epi8(
		_mm_or_si128(is_near, _mm_or_si128(is_branch, is_xbegin)));
}

/* Is it a branch that is to be kept, if an instruction begins there? */
static bool is_likely(const struct code *code, uint64_t at)
{
	const uint8_t *opcode = code->bytes + (at - code->address);
	uint64_t offset_at = at + opcode_bytes(opcode);
	int32_t offset;

	if (offset_at + sizeof(offset) > code->end)
		return false;
	memcpy(&offset, code->bytes + (offset_at - code->address), sizeof(offset));
	return branches_keep(code->branches, offset_at + sizeof(offset) + (uint64_t)(int64_t)offset,
			     *opcode == 0xe8);
}

/* Do bytes of [from, to) look like a branch that is to be kept? Their address, or `to`. */
static uint64_t find_likely(const struct code *code, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to; at += 16) {
		const uint8_t *bytes = code->bytes + (at - code->address);
		uint8_t last[17] = {0};

		if (code->end - at < sizeof(last)) {
			memcpy(last, bytes, (size_t)(code->end - at));
			bytes = last;
		}
		for (unsigned int found = find_opcodes(bytes); found; found &= found - 1) {
			uint64_t place = at + (uint64_t)__builtin_ctz(found);

			if (place < to && is_likely(code, place))
				return place;
		}
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

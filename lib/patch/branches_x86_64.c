// SPDX-License-Identifier: GPL-2.0-or-later
#include "patch/branches.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)

#include <emmintrin.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "code/code_skip_x86_64.h"
#include "code/code_x86_64.h"

/* A function, or what follows a start without a name of its own. */
struct stretch {
	uint64_t from, to;	    /* to be decoded */
	uint64_t start, next_start; /* around it */
};

/* A stretch that is being decoded. */
struct decoding {
	struct stretch stretch;
	bool is_known; /* all of it up to here */
};

struct code {
	struct branches *branches;
	const uint8_t *bytes;
	uint64_t address, end;	   /* of the first byte, and after the last */
	uint64_t chosen_end;	   /* all up to here that is of interest is among the stretches */
	struct stretch *stretches; /* owned */
	size_t nr, cap;
	struct code_lane *lanes; /* owned: CODE_LANES of them */
	struct decoding decodings[CODE_LANES];
	branches_jump *tell;
	void *context;
};

/*
 * A decoder that begins at a wrong byte is back in step within a few instructions: at the latest,
 * where the next function begins.
 */
static void choose(struct code *code, uint64_t from, uint64_t to)
{
	uint64_t start = branches_last_start(code->branches, from), next_start;

	for (uint64_t at = from; at < to; at = next_start) {
		next_start = branches_next_start(code->branches, at);
		ARRAY_GROW(code->stretches, code->nr, code->cap);
		code->stretches[code->nr++] = (struct stretch){.from = at,
							       .to = min_u64(to, next_start),
							       .start = start,
							       .next_start = next_start};
		start = next_start;
	}
	code->chosen_end = to;
}

static uint64_t with_offset(uint64_t at, size_t opcode_bytes, const uint8_t *opcode)
{
	int32_t offset;

	memcpy(&offset, opcode + opcode_bytes, sizeof(offset));
	return at + opcode_bytes + sizeof(offset) + (uint64_t)(int64_t)offset;
}

/* Most branches have no prefix. False: it is something else. */
static bool read_plain(const uint8_t *opcode, uint64_t at, struct code_instruction *out)
{
	out->effect = CODE_EFFECT_BRANCH;
	if (opcode[0] == 0x0f && (opcode[1] & 0xf0) == 0x80) {
		out->nr_bytes = 6;
		out->target = with_offset(at, 2, opcode);
		return true;
	}
	if ((opcode[0] & 0xfe) == 0xe8) {
		out->effect = opcode[0] == 0xe8 ? CODE_EFFECT_CALL : CODE_EFFECT_JUMP;
		out->nr_bytes = 5;
		out->target = with_offset(at, 1, opcode);
		return true;
	}
	if ((opcode[0] & 0xf0) != 0x70 && opcode[0] != 0xeb)
		return false;
	out->effect = opcode[0] == 0xeb ? CODE_EFFECT_JUMP : CODE_EFFECT_BRANCH;
	out->nr_bytes = 2;
	out->target = at + 2 + (uint64_t)(int64_t)(int8_t)opcode[1];
	return true;
}

static bool leads_somewhere(const struct code_instruction *code)
{
	return code->target &&
	       (code->effect == CODE_EFFECT_JUMP || code->effect == CODE_EFFECT_BRANCH ||
		code->effect == CODE_EFFECT_CALL);
}

static bool is_jump(const struct code_instruction *code)
{
	return code->effect == CODE_EFFECT_JUMP || code->effect == CODE_EFFECT_BRANCH ||
	       code->effect == CODE_EFFECT_JUMP_GOT;
}

static void take(const struct code *code, const struct decoding *decoding, uint64_t at)
{
	const struct stretch *stretch = &decoding->stretch;
	const uint8_t *opcode = code->bytes + (at - code->address);
	size_t nr_bytes = (size_t)(code->end - at);
	struct code_instruction found;

	if ((nr_bytes < CODE_INSTRUCTION_MAX_BYTES || !read_plain(opcode, at, &found)) &&
	    !code_decode(opcode, nr_bytes, at, &found))
		return;
	if (decoding->is_known && code->tell && is_jump(&found))
		code->tell(code->context, at, found.nr_bytes, found.target);
	if (leads_somewhere(&found) &&
	    !branches_ignore(code->branches, stretch->start, stretch->next_start, found.target))
		branches_add(code->branches, at, found.target, found.effect == CODE_EFFECT_CALL);
}

static void take_found(struct code *code, size_t lane)
{
	struct decoding *decoding = &code->decodings[lane];
	struct code_lane *at = &code->lanes[lane];

	for (size_t i = 0; i < at->nr_found; i++) {
		if (at->found[i] & CODE_IS_UNKNOWN)
			decoding->is_known = false;
		else
			take(code, decoding, code->address + at->found[i]);
	}
	at->nr_found = 0;
}

/* Decodes all stretches that were chosen. */
static void decode(struct code *code)
{
	size_t next = 0, nr_open = 1;

	while (nr_open) {
		nr_open = 0;
		for (size_t i = 0; i < CODE_LANES; i++) {
			struct code_lane *lane = &code->lanes[i];

			if (lane->nr_found == CODE_FOUND_MAX || lane->at >= lane->end)
				take_found(code, i);
			if (lane->at >= lane->end && next < code->nr) {
				const struct stretch *stretch = &code->stretches[next++];

				code->decodings[i] = (struct decoding){*stretch, true};
				lane->at = (size_t)(stretch->from - code->address);
				lane->end = (size_t)(stretch->to - code->address);
			}
			nr_open += lane->at < lane->end;
		}
		if (nr_open)
			code_find_leads(code->bytes, (size_t)(code->end - code->address),
					code->lanes);
	}
	code->nr = 0;
}

/* Choose the functions of [from, to), unless that has been done. */
static void choose_functions(struct code *code, uint64_t from, uint64_t to)
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
	if (start < code->chosen_end)
		start = code->chosen_end;
	if (start < end)
		choose(code, start, end);
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

/* Choose the functions with bytes that may be branches to be kept: few, where few are. */
static void choose_likely(struct code *code, uint64_t from, uint64_t to)
{
	uint64_t at = from;

	while ((at = find_likely(code, at, to)) < to) {
		choose_functions(code, at, at + 1);
		at++;
		if (at < code->chosen_end)
			at = code->chosen_end;
	}
}

static void choose_near_places(struct code *code, const uint64_t *places, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint64_t from = places[i] > SHORT_REACH ? places[i] - SHORT_REACH : 0;
		uint64_t to = places[i] + branches_near_bytes + SHORT_REACH;

		if (from >= code->end)
			break;
		if (to <= code->chosen_end)
			continue;
		choose_likely(code, code->chosen_end, min_u64(from, code->end));
		choose_functions(code, from, to);
	}
	choose_likely(code, code->chosen_end, code->end);
}

void branches_add_code(struct branches *branches, uint64_t address, const uint8_t *bytes,
		       size_t nr_bytes)
{
	struct code code = {.branches = branches,
			    .bytes = bytes,
			    .address = address,
			    .end = address + nr_bytes,
			    .chosen_end = address,
			    .lanes = xcalloc(CODE_LANES, sizeof(*code.lanes))};
	size_t nr_places;
	uint64_t reach = branches_near_bytes + SHORT_REACH;
	const uint64_t *places =
		branches_places_from(branches, address > reach ? address - reach : 0, &nr_places);

	code.tell = branches_teller(branches, &code.context);
	if (places)
		choose_near_places(&code, places, nr_places);
	else
		choose(&code, address, code.end);
	decode(&code);
	free(code.stretches);
	free(code.lanes);
}

#endif

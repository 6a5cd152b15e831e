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
	uint64_t ignored_from;	    /* targets from here on, up to the next start, do not matter */
	uint64_t told_end;	    /* up to here the listener may want jumps; or 0 */
	bool has_brief;		    /* short branches in it may matter */
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
	struct stretch *stretches; /* owned */
	size_t nr, cap;
	struct code_lane *lanes; /* owned: CODE_LANES of them */
	struct decoding decodings[CODE_LANES];
	const struct branches_listener *listener; /* or NULL */
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
		code->stretches[code->nr++] = (struct stretch){
			.from = at,
			.to = min_u64(to, next_start),
			.start = start,
			.next_start = next_start,
			.ignored_from = branches_ignored_from(code->branches, start)};
		start = next_start;
	}
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

static bool is_ignored(const struct stretch *stretch, uint64_t target)
{
	return target >= stretch->ignored_from && target < stretch->next_start;
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
	if (decoding->is_known && code->listener && is_jump(&found))
		code->listener->tell(code->listener->context, at, found.nr_bytes, found.target);
	if (leads_somewhere(&found) && !is_ignored(stretch, found.target))
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

/* A short branch ends at most so far from its target, and is not longer. */
#define SHORT_REACH 144

/* Which of 16 bytes, with the one after them, may begin the opcode of something that leads on? */
struct opcodes {
	unsigned int near;  /* call, jump, branch or xbegin with an offset of four bytes */
	unsigned int brief; /* jump, branch or loop with an offset of one byte */
	unsigned int got;   /* jump through a word at a fixed place */
};

static unsigned int mask_of(__m128i is_set)
{
	return (unsigned int)_mm_movemask_epi8(is_set);
}

static __m128i are_equal(__m128i bytes, int mask, int value)
{
	return _mm_cmpeq_epi8(_mm_and_si128(bytes, _mm_set1_epi8((char)mask)),
			      _mm_set1_epi8((char)value));
}

static struct opcodes find_opcodes(const uint8_t *bytes)
{
	const __m128i first = _mm_loadu_si128((const __m128i_u *)bytes);
	const __m128i second = _mm_loadu_si128((const __m128i_u *)(bytes + 1));
	const __m128i is_branch =
		_mm_and_si128(are_equal(first, 0xff, 0x0f), are_equal(second, 0xf0, 0x80));
	const __m128i is_xbegin =
		_mm_and_si128(are_equal(first, 0xff, 0xc7), are_equal(second, 0xff, 0xf8));
	const __m128i is_brief = _mm_or_si128(
		_mm_or_si128(are_equal(first, 0xf0, 0x70), are_equal(first, 0xfc, 0xe0)),
		are_equal(first, 0xff, 0xeb));

	return (struct opcodes){
		.near = mask_of(_mm_or_si128(are_equal(first, 0xfe, 0xe8),
					     _mm_or_si128(is_branch, is_xbegin))),
		.brief = mask_of(is_brief),
		.got = mask_of(
			_mm_and_si128(are_equal(first, 0xff, 0xff), are_equal(second, 0xff, 0x25))),
	};
}

static bool is_wanted(const struct code *code, const struct stretch *stretch, uint64_t at,
		      uint64_t target)
{
	const struct branches_listener *listener = code->listener;

	return at < stretch->told_end && (target < stretch->start || target >= stretch->told_end) &&
	       listener->wants(listener->context, at, target);
}

/* Is a jump or branch to be kept, or told, if an instruction begins there? */
static bool matters(const struct code *code, const struct stretch *stretch, uint64_t at,
		    uint64_t target)
{
	return (!is_ignored(stretch, target) && branches_keep(code->branches, at, target, false)) ||
	       is_wanted(code, stretch, at, target);
}

static bool near_matters(const struct code *code, const struct stretch *stretch, uint64_t at)
{
	const uint8_t *opcode = code->bytes + (at - code->address);
	size_t opcode_bytes = (opcode[0] & 0xfe) == 0xe8 ? 1 : 2;
	int16_t offset;

	if (at + opcode_bytes + sizeof(int32_t) > code->end)
		return false;
	memcpy(&offset, opcode + opcode_bytes, sizeof(offset));
	/* Processors disagree on the length of the offset. */
	if (at > stretch->from && opcode[-1] == 0x66 &&
	    matters(code, stretch, at,
		    at + opcode_bytes + sizeof(offset) + (uint64_t)(int64_t)offset))
		return true;
	if (opcode[0] == 0xe8)
		return branches_keep(code->branches, at, with_offset(at, 1, opcode), true);
	return matters(code, stretch, at, with_offset(at, opcode_bytes, opcode));
}

static bool brief_matters(const struct code *code, const struct stretch *stretch, uint64_t at)
{
	const uint8_t *opcode = code->bytes + (at - code->address);

	return at + 2 <= code->end &&
	       matters(code, stretch, at, at + 2 + (uint64_t)(int64_t)(int8_t)opcode[1]);
}

/* Where places are starts only, short branches matter near the ends of functions. */
static bool may_have_brief(const struct stretch *stretch, uint64_t from, uint64_t to)
{
	return stretch->ignored_from == UINT64_MAX ||
	       from < stretch->start + branches_near_bytes + SHORT_REACH ||
	       (from < stretch->told_end && to + SHORT_REACH > stretch->told_end) ||
	       to + SHORT_REACH > stretch->to;
}

/* The last of 16 bytes at which something begins that matters, if an instruction does; or `to`. */
static uint64_t last_in_block(const struct code *code, const struct stretch *stretch, uint64_t at,
			      uint64_t to)
{
	const uint8_t *bytes = code->bytes + (at - code->address);
	uint8_t last[17] = {0};
	struct opcodes found;
	unsigned int all;
	bool has_brief = stretch->has_brief && may_have_brief(stretch, at, at + 16);

	if (code->end - at < sizeof(last)) {
		memcpy(last, bytes, (size_t)(code->end - at));
		bytes = last;
	}
	found = find_opcodes(bytes);
	all = found.near | (has_brief ? found.brief : 0) | (at < stretch->told_end ? found.got : 0);
	if (to - at < 16)
		all &= (1u << (to - at)) - 1;
	while (all) {
		unsigned int index = 31 - (unsigned int)__builtin_clz(all), bit = 1u << index;

		if (found.near & bit	? near_matters(code, stretch, at + index)
		    : found.brief & bit ? brief_matters(code, stretch, at + index)
					: is_wanted(code, stretch, at + index, 0))
			return at + index;
		all &= ~bit;
	}
	return to;
}

/*
 * A stretch is decoded from its start, as far as something may matter in it: most code is not,
 * which takes some ten times as long as to look for the bytes.
 */
static uint64_t end_of_interest(const struct code *code, const struct stretch *stretch)
{
	uint64_t to = stretch->to;

	while (to > stretch->from) {
		uint64_t at = to - stretch->from > 16 ? to - 16 : stretch->from;
		uint64_t last = last_in_block(code, stretch, at, to);

		if (last < to)
			return last + 1;
		to = at;
	}
	return to;
}

/* Is one of the places that are asked about at a stretch, or near enough for a short branch? */
static void look_for_places(const struct code *code, struct stretch *stretch)
{
	uint64_t reach = branches_near_bytes + SHORT_REACH;
	uint64_t first = stretch->from > reach ? stretch->from - reach : 0;
	size_t nr;
	const uint64_t *places = branches_places_from(code->branches, first, &nr);

	stretch->has_brief = nr && places[0] < stretch->to + SHORT_REACH;
	if (code->listener)
		stretch->told_end = code->listener->end(code->listener->context, stretch->start);
}

static void choose_of_interest(struct code *code)
{
	size_t nr = code->nr;

	code->nr = 0;
	for (size_t i = 0; i < nr; i++) {
		struct stretch *stretch = &code->stretches[i];

		look_for_places(code, stretch);
		stretch->to = end_of_interest(code, stretch);
		if (stretch->to > stretch->from)
			code->stretches[code->nr++] = *stretch;
	}
}

void branches_add_code(struct branches *branches, uint64_t address, const uint8_t *bytes,
		       size_t nr_bytes)
{
	struct code code = {.branches = branches,
			    .bytes = bytes,
			    .address = address,
			    .end = address + nr_bytes,
			    .listener = branches_listener(branches),
			    .lanes = xcalloc(CODE_LANES, sizeof(*code.lanes))};
	size_t nr_places;

	choose(&code, address, code.end);
	if (branches_places_from(branches, 0, &nr_places))
		choose_of_interest(&code);
	decode(&code);
	free(code.stretches);
	free(code.lanes);
}

#endif

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
	bool has_brief;		    /* short branches in it may matter */
};

struct code {
	struct branches *branches;
	const uint8_t *bytes;
	uint64_t address, end;	   /* of the first byte, and after the last */
	struct stretch *stretches; /* owned */
	size_t nr, cap;
	struct code_lane *lanes;	    /* owned: CODE_LANES of them */
	struct stretch decoded[CODE_LANES]; /* by each of them */
	uint8_t far;			    /* as are_near() has it, of all that may matter */
};

/* Parts of a stretch that have a step of their own are at least so long. */
#define STEP_BYTES 512

/* Divides it where functions begin that have no start. */
static void add_stretch(struct code *code, struct stretch stretch)
{
	uint64_t to = stretch.to;
	size_t nr = 0;
	const uint64_t *steps = to - stretch.from > STEP_BYTES
					? branches_steps_after(code->branches, stretch.from, &nr)
					: NULL;

	for (size_t i = 0; i < nr && steps[i] < to; i++) {
		if (steps[i] - stretch.from < STEP_BYTES)
			continue;
		stretch.to = steps[i];
		ARRAY_GROW(code->stretches, code->nr, code->cap);
		code->stretches[code->nr++] = stretch;
		stretch.from = steps[i];
	}
	stretch.to = to;
	ARRAY_GROW(code->stretches, code->nr, code->cap);
	code->stretches[code->nr++] = stretch;
}

/*
 * A decoder that begins at a wrong byte is back in step within a few instructions: at the latest,
 * where the next function begins.
 */
static void choose(struct code *code, uint64_t from, uint64_t to)
{
	uint64_t start = branches_last_start(code->branches, from), next_start;

	for (uint64_t at = from; at < to; at = next_start) {
		next_start = branches_next_start(code->branches, at);
		add_stretch(code, (struct stretch){.from = at,
						   .to = min_u64(to, next_start),
						   .start = start,
						   .next_start = next_start,
						   .ignored_from = branches_ignored_from(
							   code->branches, start)});
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

static bool is_ignored(const struct stretch *stretch, uint64_t target)
{
	return target >= stretch->ignored_from && target < stretch->next_start;
}

static void take(const struct code *code, const struct stretch *stretch, uint64_t at)
{
	const uint8_t *opcode = code->bytes + (at - code->address);
	size_t nr_bytes = (size_t)(code->end - at);
	struct code_instruction found;

	if ((nr_bytes < CODE_INSTRUCTION_MAX_BYTES || !read_plain(opcode, at, &found)) &&
	    !code_decode(opcode, nr_bytes, at, &found))
		return;
	if (leads_somewhere(&found) && !is_ignored(stretch, found.target))
		branches_add(code->branches, at, found.target, found.effect == CODE_EFFECT_CALL);
}

static void take_found(struct code *code, size_t lane)
{
	struct code_lane *at = &code->lanes[lane];

	for (size_t i = 0; i < at->nr_found; i++) {
		if (!(at->found[i] & CODE_IS_UNKNOWN))
			take(code, &code->decoded[lane], code->address + at->found[i]);
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

				code->decoded[i] = *stretch;
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
/* Bytes that are looked at together, and those after them that may belong to the last one. */
#define BLOCK_BYTES 64
#define AFTER_BYTES 5

/* Which of the bytes of a block may begin the opcode of something that leads on? One bit each. */
struct opcodes {
	uint64_t calls;	   /* or jump, with an offset of four bytes that may matter; */
	uint64_t branches; /* or xbegin: likewise */
	uint64_t sized;	   /* a prefix of one of these that makes its offset shorter */
};

static unsigned int mask_of(__m128i is_set)
{
	return (unsigned int)_mm_movemask_epi8(is_set);
}

static __m128i load(const uint8_t *bytes)
{
	return _mm_loadu_si128((const __m128i_u *)bytes);
}

static __m128i are_equal(__m128i bytes, int mask, int value)
{
	return _mm_cmpeq_epi8(_mm_and_si128(bytes, _mm_set1_epi8((char)mask)),
			      _mm_set1_epi8((char)value));
}

/* Are these the highest bytes of offsets from -far to far - 1, in units of 16 MiB? */
static __m128i are_near(__m128i bytes, uint8_t far)
{
	const __m128i moved = _mm_add_epi8(bytes, _mm_set1_epi8((char)far));

	return _mm_cmpeq_epi8(_mm_min_epu8(moved, _mm_set1_epi8((char)(2 * far - 1))), moved);
}

/* Two bytes: a branch or xbegin, with a longer offset. */
static __m128i are_two(__m128i first, __m128i second)
{
	return _mm_or_si128(
		_mm_and_si128(are_equal(first, 0xff, 0x0f), are_equal(second, 0xf0, 0x80)),
		_mm_and_si128(are_equal(first, 0xff, 0xc7), are_equal(second, 0xff, 0xf8)));
}

/* Two bytes of the same, or a call or jump. */
static bool has_long_offset(const uint8_t *bytes)
{
	return (bytes[0] & 0xfe) == 0xe8 || (bytes[0] == 0x0f && (bytes[1] & 0xf0) == 0x80) ||
	       (bytes[0] == 0xc7 && bytes[1] == 0xf8);
}

static struct opcodes find_opcodes(const uint8_t *bytes, uint8_t far)
{
	struct opcodes found = {.calls = 0};
	uint64_t all = 0; /* of the first two kinds, wherever they lead */

	for (unsigned int at = 0; at < BLOCK_BYTES; at += 16) {
		const __m128i first = load(bytes + at);
		const __m128i is_one = are_equal(first, 0xfe, 0xe8);
		const __m128i is_two = are_two(first, load(bytes + at + 1));
		const __m128i is_near_one = are_near(load(bytes + at + 4), far);
		const __m128i is_near_two = are_near(load(bytes + at + 5), far);

		found.calls |= (uint64_t)mask_of(_mm_and_si128(is_one, is_near_one)) << at;
		found.branches |= (uint64_t)mask_of(_mm_and_si128(is_two, is_near_two)) << at;
		found.sized |= (uint64_t)mask_of(are_equal(first, 0xff, 0x66)) << at;
		all |= (uint64_t)mask_of(_mm_or_si128(is_one, is_two)) << at;
	}
	found.sized &= all >> 1 | (uint64_t)has_long_offset(bytes + BLOCK_BYTES)
					  << (BLOCK_BYTES - 1);
	return found;
}

/* Likewise jump, branch or loop with an offset of one byte. */
static uint64_t find_brief(const uint8_t *bytes)
{
	uint64_t found = 0;

	for (unsigned int at = 0; at < BLOCK_BYTES; at += 16) {
		const __m128i first = load(bytes + at);

		found |= (uint64_t)mask_of(_mm_or_si128(_mm_or_si128(are_equal(first, 0xf0, 0x70),
								     are_equal(first, 0xfc, 0xe0)),
							are_equal(first, 0xff, 0xeb)))
			 << at;
	}
	return found;
}

/* Is a jump or branch to be kept, if an instruction begins there? */
static bool matters(const struct code *code, const struct stretch *stretch, uint64_t at,
		    uint64_t target)
{
	return !is_ignored(stretch, target) && branches_keep(code->branches, at, target, false);
}

typedef bool matters_at(const struct code *code, const struct stretch *stretch, uint64_t at);

static bool call_matters(const struct code *code, const struct stretch *stretch, uint64_t at)
{
	const uint8_t *opcode = code->bytes + (at - code->address);
	uint64_t target;

	if (at + 5 > code->end)
		return false;
	target = with_offset(at, 1, opcode);
	return opcode[0] == 0xe8 ? branches_keep(code->branches, at, target, true)
				 : matters(code, stretch, at, target);
}

static bool branch_matters(const struct code *code, const struct stretch *stretch, uint64_t at)
{
	return at + 6 <= code->end &&
	       matters(code, stretch, at, with_offset(at, 2, code->bytes + (at - code->address)));
}

/* Processors disagree on the length of the offset, which is four bytes in the other form. */
static bool sized_matters(const struct code *code, const struct stretch *stretch, uint64_t at)
{
	const uint8_t *opcode = code->bytes + (at - code->address) + 1;
	size_t nr_bytes = 1 + ((opcode[0] & 0xfe) == 0xe8 ? 1 : 2) + sizeof(int16_t);
	int16_t offset;

	if (at + nr_bytes > code->end)
		return false;
	memcpy(&offset, opcode - 1 + nr_bytes - sizeof(offset), sizeof(offset));
	return matters(code, stretch, at, at + nr_bytes + (uint64_t)(int64_t)offset);
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
	       to + SHORT_REACH > stretch->to;
}

/* The offset after the last of these places in a block that matters; 0: there is none. */
static inline uint64_t end_of_bits(const struct code *code, const struct stretch *stretch,
				   uint64_t at, uint64_t bits, matters_at *is_one)
{
	while (bits) {
		unsigned int index = 63 - (unsigned int)__builtin_clzll(bits);

		if (is_one(code, stretch, at + index))
			return index + 1;
		bits &= ~(UINT64_C(1) << index);
	}
	return 0;
}

/* The end of what matters in a block; `at`: nothing does. */
static uint64_t end_in_block(const struct code *code, const struct stretch *stretch, uint64_t at,
			     uint64_t to)
{
	const uint8_t *bytes = code->bytes + (at - code->address);
	uint64_t mask = to - at < BLOCK_BYTES ? (UINT64_C(1) << (to - at)) - 1 : UINT64_MAX;
	uint8_t last[BLOCK_BYTES + AFTER_BYTES] = {0};
	struct opcodes found;
	uint64_t end = 0;

	if (code->end - at < sizeof(last)) {
		memcpy(last, bytes, (size_t)(code->end - at));
		bytes = last;
	}
	found = find_opcodes(bytes, code->far);
	if (stretch->has_brief && may_have_brief(stretch, at, at + BLOCK_BYTES))
		end = end_of_bits(code, stretch, at, find_brief(bytes) & mask, brief_matters);
	end = max_u64(end, end_of_bits(code, stretch, at, found.calls & mask, call_matters));
	end = max_u64(end, end_of_bits(code, stretch, at, found.branches & mask, branch_matters));
	end = max_u64(end, end_of_bits(code, stretch, at, found.sized & mask, sized_matters));
	return at + end;
}

/*
 * A stretch is decoded from its start, as far as something may matter in it: most code is not,
 * which takes some ten times as long as to look for the bytes.
 */
static uint64_t end_of_interest(const struct code *code, const struct stretch *stretch)
{
	uint64_t to = stretch->to, at;

	for (; to > stretch->from; to = at) {
		uint64_t end;

		at = to - stretch->from > BLOCK_BYTES ? to - BLOCK_BYTES : stretch->from;
		end = end_in_block(code, stretch, at, to);
		if (end > at)
			return end;
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

/* The offsets between this code and the places. */
static uint8_t far_of(const struct code *code, const uint64_t *places, size_t nr)
{
	uint64_t low = nr ? min_u64(code->address, places[0]) : code->address;
	uint64_t high = nr ? max_u64(code->end, places[nr - 1]) : code->end;

	return (uint8_t)min_u64(((high - low + 2 * SHORT_REACH) >> 24) + 1, 128);
}

void branches_add_code(struct branches *branches, uint64_t address, const uint8_t *bytes,
		       size_t nr_bytes)
{
	struct code code = {.branches = branches,
			    .bytes = bytes,
			    .address = address,
			    .end = address + nr_bytes,
			    .lanes = xcalloc(CODE_LANES, sizeof(*code.lanes))};
	const uint64_t *places;
	size_t nr_places;

	choose(&code, address, code.end);
	places = branches_places_from(branches, 0, &nr_places);
	if (places) {
		code.far = far_of(&code, places, nr_places);
		choose_of_interest(&code);
	}
	decode(&code);
	free(code.stretches);
	free(code.lanes);
}

#endif

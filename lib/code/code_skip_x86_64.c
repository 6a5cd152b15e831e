// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The length of common instructions, without a branch for each of their parts: nearly each would be
 * predicted wrongly. The length of one must be known before the next one is found, which takes some
 * ten times as long as the work itself: so several functions are gone through side by side.
 */
#include "code/code_skip_x86_64.h"

#include <stdbool.h>
#include <string.h>

#include "code/code_x86_64.h"

/* The form of an opcode: the bytes of its immediate, and more. */
enum {
	IMMEDIATE = 0x07,
	SIZED = 0x08,	 /* four more bytes, or two with a prefix for the size */
	WIDE = 0x10,	 /* with REX.W four more */
	IF_TEST = 0x20,	 /* an immediate only if the reg field says so */
	LEADS = 0x40,	 /* to be recorded: it leads elsewhere, or may */
	STOP = 0x80,	 /* left to code_decode() */
	MODRM = -0x8000, /* follows the opcode */
};

#define REPEAT_2(...)  __VA_ARGS__, __VA_ARGS__
#define REPEAT_4(...)  REPEAT_2(__VA_ARGS__), REPEAT_2(__VA_ARGS__)
#define REPEAT_8(...)  REPEAT_4(__VA_ARGS__), REPEAT_4(__VA_ARGS__)
#define REPEAT_16(...) REPEAT_8(__VA_ARGS__), REPEAT_8(__VA_ARGS__)
#define ARITHMETIC     REPEAT_4(MODRM), 1, SIZED, STOP, STOP

static const int16_t forms[2][256] = {
	{
		/* 00 */ ARITHMETIC,
		ARITHMETIC,
		/* 10 */ ARITHMETIC,
		ARITHMETIC,
		/* 20 */ ARITHMETIC,
		ARITHMETIC,
		/* 30 */ ARITHMETIC,
		ARITHMETIC,
		/* 40 */ REPEAT_16(STOP),
		/* 50 */ REPEAT_16(0),
		/* 60 */ STOP,
		STOP,
		STOP,
		MODRM,
		REPEAT_4(STOP),
		/* 68 */ 4,
		MODRM | SIZED,
		1,
		MODRM | 1,
		REPEAT_4(STOP),
		/* 70 */ REPEAT_16(LEADS | 1),
		/* 80 */ MODRM | 1,
		MODRM | SIZED,
		STOP,
		MODRM | 1,
		REPEAT_4(MODRM),
		/* 88 */ REPEAT_4(MODRM),
		MODRM,
		MODRM,
		MODRM,
		STOP,
		/* 90 */ REPEAT_8(0),
		/* 98 */ 0,
		0,
		STOP,
		0,
		REPEAT_4(0),
		/* a0 */ REPEAT_4(STOP),
		REPEAT_4(0),
		/* a8 */ 1,
		SIZED,
		0,
		0,
		REPEAT_4(0),
		/* b0 */ REPEAT_8(1),
		/* b8 */ REPEAT_8(SIZED | WIDE),
		/* c0 */ MODRM | 1,
		MODRM | 1,
		2,
		0,
		STOP,
		STOP,
		MODRM | 1,
		MODRM | SIZED,
		/* c8 */ STOP,
		0,
		STOP,
		STOP,
		0,
		STOP,
		STOP,
		STOP,
		/* d0 */ REPEAT_4(MODRM),
		STOP,
		STOP,
		STOP,
		0,
		/* d8 */ REPEAT_8(MODRM),
		/* e0 */ REPEAT_4(LEADS | 1),
		REPEAT_4(STOP),
		/* e8 */ LEADS | 4,
		LEADS | 4,
		STOP,
		LEADS | 1,
		REPEAT_4(STOP),
		/* f0 */ REPEAT_4(STOP),
		0,
		0,
		MODRM | IF_TEST | 1,
		MODRM | IF_TEST | SIZED,
		/* f8 */ REPEAT_4(0),
		0,
		0,
		STOP,
		MODRM | LEADS,
	},
	{
		/* after 0f */
		/* 00 */ REPEAT_4(MODRM),
		MODRM,
		0,
		0,
		0,
		/* 08 */ 0,
		0,
		MODRM,
		0,
		MODRM,
		MODRM,
		0,
		MODRM,
		/* 10 */ REPEAT_16(MODRM),
		/* 20 */ REPEAT_16(MODRM),
		/* 30 */ REPEAT_8(0),
		/* 38 */ STOP,
		MODRM,
		STOP,
		MODRM,
		REPEAT_4(MODRM),
		/* 40 */ REPEAT_16(MODRM),
		/* 50 */ REPEAT_16(MODRM),
		/* 60 */ REPEAT_16(MODRM),
		/* 70 */ REPEAT_4(MODRM | 1),
		MODRM,
		MODRM,
		MODRM,
		0,
		/* 78 */ REPEAT_8(MODRM),
		/* 80 */ REPEAT_16(LEADS | 4),
		/* 90 */ REPEAT_16(MODRM),
		/* a0 */ 0,
		0,
		0,
		MODRM,
		MODRM | 1,
		MODRM,
		MODRM,
		MODRM,
		/* a8 */ 0,
		0,
		0,
		MODRM,
		MODRM | 1,
		MODRM,
		MODRM,
		MODRM,
		/* b0 */ REPEAT_8(MODRM),
		/* b8 */ MODRM,
		MODRM,
		MODRM | 1,
		MODRM,
		REPEAT_4(MODRM),
		/* c0 */ MODRM,
		MODRM,
		MODRM | 1,
		MODRM,
		MODRM | 1,
		MODRM | 1,
		MODRM | 1,
		MODRM,
		/* c8 */ REPEAT_8(0),
		/* d0 */ REPEAT_16(MODRM),
		/* e0 */ REPEAT_16(MODRM),
		/* f0 */ REPEAT_16(MODRM),
	},
};

/* xbegin, with its ModRM, as a little-endian number. */
#define XBEGIN 0xf8c7

/* The bytes of a ModRM with what belongs to it, by its rm field, */
#define OF_RM(plain, with_sib, with_rip)                                                           \
	plain, plain, plain, plain, with_sib, with_rip, plain, plain
/* by all of it, */
#define OF_MODRM(with_sib)                                                                         \
	REPEAT_8(OF_RM(1, with_sib, 5)), REPEAT_8(OF_RM(2, 3, 2)), REPEAT_8(OF_RM(5, 6, 5)),       \
		REPEAT_8(OF_RM(1, 1, 1))

/* and by the base field of the byte after it. */
static const uint8_t lengths[8 * 256] = {REPEAT_4(OF_MODRM(2)), OF_MODRM(2), OF_MODRM(6),
					 REPEAT_2(OF_MODRM(2))};

/* Prefixes that common instructions have; only one of them. */
enum { PREFIX = 1, SHORT = 2 };

static const uint8_t prefixes[256] = {[0x64] = PREFIX,
				      [0x65] = PREFIX,
				      [0x66] = PREFIX | SHORT,
				      [0xf2] = PREFIX,
				      [0xf3] = PREFIX};

/* As slow as it is, it knows all instructions. */
static void decode_one(const uint8_t *bytes, size_t nr_bytes, struct code_lane *lane)
{
	struct code_instruction instruction;
	bool is_known = code_decode(bytes + lane->at, nr_bytes - lane->at, 0, &instruction);

	lane->found[lane->nr_found++] = (uint32_t)lane->at | (is_known ? 0 : CODE_IS_UNKNOWN);
	lane->at += is_known ? instruction.nr_bytes : 1;
}

/* All bytes of the instruction can be read. False: it must be decoded. */
static inline bool step(const uint8_t *bytes, struct code_lane *lane)
{
	const uint8_t *start = bytes + lane->at, *next = start;
	uint32_t is_short, is_wide, has_rex, is_second, prefix;
	uint16_t word, modrm;
	int32_t form;

	prefix = prefixes[*next];
	is_short = prefix / SHORT;
	next += prefix & PREFIX;
	has_rex = (*next & 0xf0) == 0x40;
	is_wide = has_rex & (uint32_t)(*next >> 3);
	next += has_rex;
	is_second = *next == 0x0f;
	next += is_second;
	form = forms[is_second][*next];
	memcpy(&word, next, sizeof(word));
	memcpy(&modrm, next + 1, sizeof(modrm));
	/* Processors disagree on the operand of a branch with a prefix for the size. */
	if (form & (STOP | (int32_t)is_short * LEADS))
		return false;
	lane->found[lane->nr_found] = (uint32_t)lane->at;
	lane->nr_found += (form & LEADS) / LEADS | (word == XBEGIN);
	/* The mask is all ones with a ModRM. */
	next += 1 + ((uint32_t)(form >> 15) & lengths[modrm & 0x7ff]);
	if (form & IF_TEST && (modrm >> 3 & 7) > 1)
		form = 0;
	next += ((uint32_t)form & IMMEDIATE) +
		(((uint32_t)form & SIZED) >> 1 >> (is_short & ~is_wide)) +
		(((uint32_t)form & WIDE) >> 2) * is_wide;
	lane->at += (size_t)(next - start);
	return true;
}

/* The offset up to which instructions can be read without a look at the end of all bytes. */
static size_t end_of_steps(const struct code_lane *lane, size_t nr_bytes)
{
	size_t end =
		nr_bytes > CODE_INSTRUCTION_MAX_BYTES ? nr_bytes - CODE_INSTRUCTION_MAX_BYTES : 0;

	return lane->end < end ? lane->end : end;
}

/* Go on by steps until a lane is near the end of all bytes, or at its own, or full. */
static void step_all(const uint8_t *bytes, size_t nr_bytes, struct code_lane *lanes)
{
	size_t ends[CODE_LANES], nr_rounds = CODE_FOUND_MAX;
	bool has_done = false;

	for (size_t i = 0; i < CODE_LANES; i++) {
		ends[i] = end_of_steps(&lanes[i], nr_bytes);
		has_done |= lanes[i].at >= ends[i] && lanes[i].at < lanes[i].end;
		if (nr_rounds > CODE_FOUND_MAX - lanes[i].nr_found)
			nr_rounds = CODE_FOUND_MAX - lanes[i].nr_found;
	}
	for (; nr_rounds && !has_done; nr_rounds--) {
		for (size_t i = 0; i < CODE_LANES; i++) {
			struct code_lane *lane = &lanes[i];

			if (lane->at >= ends[i])
				continue;
			if (!step(bytes, lane))
				decode_one(bytes, nr_bytes, lane);
			has_done |= lane->at >= ends[i];
		}
	}
}

void code_find_leads(const uint8_t *bytes, size_t nr_bytes, struct code_lane *lanes)
{
	step_all(bytes, nr_bytes, lanes);
	for (size_t i = 0; i < CODE_LANES; i++) {
		struct code_lane *lane = &lanes[i];

		while (lane->at >= end_of_steps(lane, nr_bytes) && lane->at < lane->end &&
		       lane->nr_found < CODE_FOUND_MAX)
			decode_one(bytes, nr_bytes, lane);
	}
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The length of common instructions, without a branch for each of their parts: nearly each would be
 * predicted wrongly.
 */
#include "code/code_skip_x86_64.h"

#include <stdbool.h>
#include <string.h>

/* The form of an opcode: the bytes of its immediate, and more. */
enum {
	IMMEDIATE = 0x07,
	SIZED = 0x08,	 /* four more bytes, or two with a prefix for the size */
	WIDE = 0x10,	 /* with REX.W four more */
	MODRM = 0x20,	 /* follows the opcode */
	IF_TEST = 0x40,	 /* all that only if the reg field says so */
	MAY_STOP = 0x80, /* an xbegin, or a jump */
	STOP = 0x100,	 /* of no interest here, or of too much */
};

#define REPEAT_2(form)	form, form
#define REPEAT_4(form)	REPEAT_2(form), REPEAT_2(form)
#define REPEAT_8(form)	REPEAT_4(form), REPEAT_4(form)
#define REPEAT_16(form) REPEAT_8(form), REPEAT_8(form)
#define ARITHMETIC	REPEAT_4(MODRM), 1, SIZED, STOP, STOP

static const uint16_t forms[2][256] = {
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
		/* 70 */ REPEAT_16(STOP),
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
		MODRM | SIZED | MAY_STOP,
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
		/* e0 */ REPEAT_16(STOP),
		/* f0 */ REPEAT_4(STOP),
		0,
		0,
		MODRM | IF_TEST | 1,
		MODRM | IF_TEST | SIZED,
		/* f8 */ REPEAT_4(0),
		0,
		0,
		STOP,
		MODRM | MAY_STOP,
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
		/* 80 */ REPEAT_16(STOP),
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

/* The bytes of a ModRM with what belongs to it, by its mod and rm fields. */
#define LENGTHS(plain, with_sib, with_rip)                                                         \
	plain, plain, plain, plain, with_sib, with_rip, plain, plain

static const uint8_t lengths[4][8] = {
	{LENGTHS(1, 2, 5)}, {LENGTHS(2, 3, 2)}, {LENGTHS(5, 6, 5)}, {LENGTHS(1, 1, 1)}};

static uint32_t is_any_prefix(uint8_t byte)
{
	return byte == 0x66 || (byte & 0xfe) == 0xf2 || (byte & 0xfe) == 0x64;
}

static bool is_xbegin_or_jump(uint8_t opcode, uint8_t modrm)
{
	return opcode == 0xc7 ? modrm == 0xf8 : (modrm >> 3 & 7) == 4;
}

size_t code_skip(const uint8_t *bytes, size_t at, size_t end)
{
	while (at < end) {
		uint32_t nr, is_short, is_wide, has_rex, is_second, form, modrm, sib, applies;
		uint64_t word;

		memcpy(&word, bytes + at, sizeof(word));
		is_short = (uint8_t)word == 0x66;
		nr = is_any_prefix((uint8_t)word);
		word >>= 8 * nr;
		has_rex = (word & 0xf0) == 0x40;
		is_wide = has_rex & (uint32_t)(word >> 3);
		word >>= 8 * has_rex;
		is_second = (uint8_t)word == 0x0f;
		word >>= 8 * is_second;
		form = forms[is_second][(uint8_t)word];
		modrm = (uint8_t)(word >> 8);
		sib = (uint8_t)(word >> 16);
		if (form & (STOP | MAY_STOP)) {
			if (form & STOP || is_xbegin_or_jump((uint8_t)word, (uint8_t)modrm))
				return at;
		}
		nr += has_rex + is_second + 1;
		nr += (form & MODRM ? UINT32_MAX : 0) &
		      (lengths[modrm >> 6][modrm & 7] +
		       4 * ((modrm & 0xc7) == 4 && (sib & 7) == 5));
		applies = !(form & IF_TEST) | ((modrm >> 3 & 7) < 2);
		nr += applies * ((form & IMMEDIATE) +
				 ((form & SIZED) >> 2) * (2 - (is_short & ~is_wide & 1)) +
				 ((form & WIDE) >> 2) * (is_wide & 1));
		at += nr;
	}
	return at;
}

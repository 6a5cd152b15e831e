/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Thunks in the making, in this room and in others with probes that do more than count. */
#ifndef PROFC_PATCH_MAKER_AARCH64_H
#define PROFC_PATCH_MAKER_AARCH64_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "patch/patch.h"

#define WORD_BYTES	sizeof(uint32_t)
#define THUNK_MAX_WORDS 60		   /* offsets in it have a byte */
#define BRANCH_BYTES	(INT64_C(1) << 27) /* on either side */
#define PAGE_BYTES	UINT64_C(4096)	   /* of adrp, whatever the kernel has */

/* Numbers of registers in instructions. */
enum { X0 = 0, X1 = 1, X13 = 13, X14 = 14, X15 = 15, X16 = 16, X17 = 17, XZR = 31 };

#define PACIASP UINT32_C(0xd503233f)
#define PACIBSP UINT32_C(0xd503237f)

struct maker {
	struct patch patch; /* so far */
	uint32_t words[THUNK_MAX_WORDS];
	size_t nr;
	size_t entry; /* the word to which the branch at the function leads */
	bool is_out_of_reach;
};

static inline uint32_t word_at(const uint8_t *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

static inline void put(struct maker *maker, uint32_t word)
{
	assert(maker->nr < THUNK_MAX_WORDS);
	maker->words[maker->nr++] = word;
}

static inline uint64_t next_address(const struct maker *maker)
{
	return maker->patch.thunk + maker->nr * WORD_BYTES;
}

/* b or bl, from one address to another one. */
static inline uint32_t branch(struct maker *maker, bool is_call, uint64_t from, uint64_t to)
{
	int64_t distance = (int64_t)(to - from);

	if (distance < -BRANCH_BYTES || distance >= BRANCH_BYTES || distance % 4)
		maker->is_out_of_reach = true;
	return (is_call ? UINT32_C(0x94000000) : UINT32_C(0x14000000)) |
	       ((uint32_t)(distance >> 2) & 0x3ffffff);
}

static inline void put_branch(struct maker *maker, uint64_t to)
{
	put(maker, branch(maker, false, next_address(maker), to));
}

/* movz, and movk for what is not 0. */
static inline void put_value(struct maker *maker, unsigned int reg, uint64_t value)
{
	put(maker, UINT32_C(0xd2800000) | (uint32_t)(value & 0xffff) << 5 | reg);
	for (unsigned int i = 1; i < 4; i++) {
		uint32_t part = (uint32_t)(value >> 16 * i & 0xffff);

		if (part)
			put(maker, UINT32_C(0xf2800000) | i << 21 | part << 5 | reg);
	}
}

/* adrp: +-4 GiB */
static inline void put_near_page(struct maker *maker, unsigned int reg, uint64_t address)
{
	int64_t pages = (int64_t)(address / PAGE_BYTES - next_address(maker) / PAGE_BYTES);

	if (pages < -(INT64_C(1) << 20) || pages >= INT64_C(1) << 20)
		maker->is_out_of_reach = true;
	put(maker, UINT32_C(0x90000000) | ((uint32_t)pages & 3) << 29 |
			   ((uint32_t)(pages >> 2) & 0x7ffff) << 5 | reg);
}

/* Adds the place in that page, too. */
static inline void put_near_address(struct maker *maker, unsigned int reg, uint64_t address)
{
	uint32_t low = (uint32_t)(address % PAGE_BYTES);

	put_near_page(maker, reg, address);
	put(maker, UINT32_C(0x91000000) | low << 10 | reg << 5 | reg);
}

/* The next instruction of the thunk represents this place in the program. */
static inline void add_step(struct maker *maker, uint64_t address, bool is_callee)
{
	assert(maker->patch.nr_steps < PATCH_MAX_STEPS);
	maker->patch.steps[maker->patch.nr_steps++] = (struct patch_step){
		.offset = (uint8_t)(maker->nr * WORD_BYTES),
		.window_offset = (int8_t)(address - maker->patch.address),
		.is_callee = is_callee,
	};
}

/* Large System Extensions (Armv8.1) add in one instruction. */
bool maker_has_atomic_add(void);

/* Puts the code that does what the counter's pass says, and changes no register and no flag. */
void maker_put_count(struct maker *maker, const struct patch_counter *counter);
/* The code of PATCH_LEAVE. */
void maker_put_leave(struct maker *maker, const struct patch_counter *counter);
/* PATCH_LEAVE if the address in the register, which may be signed, is outside the gate. */
void maker_put_leave_to(struct maker *maker, const struct patch_counter *counter, unsigned int reg,
			bool is_signed);

/*
 * Puts the code of a thunk before the function's own first instructions, and sets maker->entry. It
 * must preserve the stack, and all registers that the function or its caller may use.
 */
typedef void maker_prelude(struct maker *maker, const void *context);

/*
 * As patch_entry() with code that does something else than to count. *original: the address of the
 * function without its probe, in the thunk.
 */
enum patch_outcome patch_entry_behind(struct patch *patch, const struct patch_function *function,
				      const struct branches *branches, struct code_area *area,
				      maker_prelude *prelude, const void *context,
				      uint64_t *original);

#endif

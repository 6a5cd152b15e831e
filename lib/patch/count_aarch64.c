// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The code in thunks that counts a pass. It saves the registers that it takes, and changes no flag:
 * what it compares are differences of addresses, which are less than 2^63, by their sign.
 */
#include "patch/maker_aarch64.h"

#if defined(__aarch64__)

#include <sys/auxv.h>

#include "patch/gate.h"

#define PUSH_X16_X17 UINT32_C(0xa9bf47f0) /* stp x16, x17, [sp, #-16]! */
#define POP_X16_X17  UINT32_C(0xa8c147f0) /* ldp x16, x17, [sp], #16 */
#define PUSH_X14_X15 UINT32_C(0xa9bf3fee)
#define POP_X14_X15  UINT32_C(0xa8c13fee)
#define GET_THREAD   UINT32_C(0xd53bd050) /* mrs x16, tpidr_el0 */
#define MULTIPLY     UINT32_C(0x1b117e10) /* mul w16, w16, w17 */
#define SET_X17	     UINT32_C(0xd2800031) /* mov x17, #1 */
#define STADD	     UINT32_C(0xf831021f) /* stadd x17, [x16] */
#define LDXR	     UINT32_C(0xc85f7e0f) /* ldxr x15, [x16] */
#define ADD_X17	     UINT32_C(0x8b1101ef) /* add x15, x15, x17 */
#define STXR	     UINT32_C(0xc80e7e0f) /* stxr w14, x15, [x16] */
#define CBNZ_TO_LDXR UINT32_C(0x35ffffae) /* cbnz w14, .-12 */

/* A pair of registers, the first and the second of which are pushed[] numbers nr + 1 and nr. */
static void put_push(struct maker *maker, uint32_t push, unsigned int nr)
{
	put(maker, push);
	maker->patch.pushed_from[nr] = maker->patch.pushed_from[nr + 1] =
		(uint8_t)(maker->nr * WORD_BYTES);
}

static void put_pop(struct maker *maker, uint32_t pop, unsigned int nr)
{
	put(maker, pop);
	maker->patch.pushed_to[nr] = maker->patch.pushed_to[nr + 1] =
		(uint8_t)(maker->nr * WORD_BYTES);
}

static void put_push_all(struct maker *maker)
{
	put_push(maker, PUSH_X16_X17, 0);
	put_push(maker, PUSH_X14_X15, 2);
}

static void put_pop_all(struct maker *maker)
{
	put_pop(maker, POP_X14_X15, 2);
	put_pop(maker, POP_X16_X17, 0);
}

/* x16 becomes the address of the counter, in a copy that the thread's pointer chooses. */
static void put_find_counter(struct maker *maker, const struct patch_counter *counter)
{
	uint32_t left = (uint32_t)__builtin_clz(counter->nr_shards - 1);

	if (counter->nr_shards == 1) {
		put_near_address(maker, X16, counter->address);
		return;
	}
	put(maker, GET_THREAD);
	put(maker, UINT32_C(0x52800000) | (PATCH_OWNERS_FACTOR & 0xffff) << 5 | X17); /* movz */
	put(maker, UINT32_C(0x72a00000) | PATCH_OWNERS_FACTOR >> 16 << 5 | X17);      /* movk */
	put(maker, MULTIPLY);
	put(maker, UINT32_C(0x53007c00) | left << 16 | X16 << 5 | X16); /* lsr w16, w16, #left */
	put_near_address(maker, X17, counter->address);
	/* add x16, x17, x16, lsl #shard_log2 */
	put(maker, UINT32_C(0x8b000000) | X16 << 16 | counter->shard_log2 << 10 | X17 << 5 | X16);
}

bool maker_has_atomic_add(void)
{
	return getauxval(AT_HWCAP) & HWCAP_ATOMICS;
}

/* Adds one to the word at x16; x17 is lost and, without an instruction for it, x14 and x15. */
static void put_add(struct maker *maker)
{
	put(maker, SET_X17);
	if (maker_has_atomic_add()) {
		put(maker, STADD);
		return;
	}
	put(maker, LDXR);
	put(maker, ADD_X17);
	put(maker, STXR);
	put(maker, CBNZ_TO_LDXR);
}

static void put_count(struct maker *maker, const struct patch_counter *counter)
{
	put_push(maker, PUSH_X16_X17, 0);
	if (!maker_has_atomic_add())
		put_push(maker, PUSH_X14_X15, 2);
	put_find_counter(maker, counter);
	put_add(maker);
	if (!maker_has_atomic_add())
		put_pop(maker, POP_X14_X15, 2);
	put_pop(maker, POP_X16_X17, 0);
}

/* -- gates -- */

#define GET_OWN	       UINT32_C(0xd53bd051) /* mrs x17, tpidr_el0 */
#define PAGE_OF_OWN    UINT32_C(0xd34cfe30) /* lsr x16, x17, #12 */
#define SPREAD	       UINT32_C(0x0b102210) /* add w16, w16, w16, lsl #8 */
#define TAKE_BITS      UINT32_C(0x53084e10) /* ubfx w16, w16, #8, #12 */
#define LOAD_X14       UINT32_C(0xf94001ce) /* ldr x14, [x14, #0] */
#define SET_SLOT       UINT32_C(0x8b1011d0) /* add x16, x14, x16, lsl #4 */
#define LOAD_SLOT      UINT32_C(0xa9403e0e) /* ldp x14, x15, [x16] */
#define LOAD_PLACE     UINT32_C(0xf940060f) /* ldr x15, [x16, #8] */
#define STORE_PLACE    UINT32_C(0xf900060e) /* str x14, [x16, #8] */
#define CLEAR_PLACE    UINT32_C(0xf900061f) /* str xzr, [x16, #8] */
#define RELEASE_SLOT   UINT32_C(0xc89ffe1f) /* stlr xzr, [x16] */
#define LESS_OWN       UINT32_C(0xcb1101ce) /* sub x14, x14, x17 */
#define LESS_PLACE     UINT32_C(0xcb0f01ce) /* sub x14, x14, x15 */
#define STACK_POINTER  UINT32_C(0x910083ee) /* add x14, sp, #32: before the thunk */
#define CLEAR_X14      UINT32_C(0xaa1f03ee) /* mov x14, xzr */
#define CAS	       UINT32_C(0xc8ae7e11) /* cas x14, x17, [x16] */
#define LDXR_SLOT      UINT32_C(0xc85f7e0e) /* ldxr x14, [x16] */
#define CBNZ_OVER_STXR UINT32_C(0xb500006e) /* cbnz x14, .+12 */
#define STXR_SLOT      UINT32_C(0xc80f7e11) /* stxr w15, x17, [x16] */
#define CBNZ_TO_SLOT   UINT32_C(0x35ffffaf) /* cbnz w15, .-12 */

_Static_assert(GATE_SLOTS == 1 << 12 && GATE_SLOT_BYTES == 1 << 4, "generated code knows it");

/* Branches forward; their distance is set by branch_to_here(). */
#define CBNZ_X14     UINT32_C(0xb500000e)
#define CBZ_X14	     UINT32_C(0xb400000e)
#define CBZ_X17	     UINT32_C(0xb4000011)
#define TBNZ_X14_63  UINT32_C(0xb7f8000e) /* it is negative */
#define TBZ_X14_63   UINT32_C(0xb6f8000e)
#define JUMP	     UINT32_C(0x14000000)
#define IS_JUMP_MASK UINT32_C(0xfc000000)

static size_t put_forward(struct maker *maker, uint32_t branch)
{
	put(maker, branch);
	return maker->nr - 1;
}

static void branch_to_here(struct maker *maker, size_t from)
{
	uint32_t distance = (uint32_t)(maker->nr - from);
	bool is_jump = (maker->words[from] & IS_JUMP_MASK) == JUMP;

	maker->words[from] |= is_jump ? distance : distance << 5;
}

/* x17 becomes the thread's pointer, x16 the address of its slot (gate.h); x14 is lost. */
static void put_find_slot(struct maker *maker, const struct patch_counter *counter)
{
	uint32_t low = (uint32_t)(counter->gate_word % PAGE_BYTES);

	put(maker, GET_OWN);
	put(maker, PAGE_OF_OWN);
	put(maker, SPREAD);
	put(maker, TAKE_BITS);
	put_near_page(maker, X14, counter->gate_word);
	put(maker, LOAD_X14 | low / sizeof(uint64_t) << 10);
	put(maker, SET_SLOT);
}

/* x14 becomes the stack pointer less x15. */
static void put_compare_places(struct maker *maker)
{
	put(maker, STACK_POINTER);
	put(maker, LESS_PLACE);
}

/*
 * A function that is called from the gate has its stack pointer below that of the gate's entry, as
 * the gate has saved its return address. The slot of a thread that is inside has its pointer.
 */
static void put_count_within(struct maker *maker, const struct patch_counter *counter)
{
	size_t other, above;

	put_push_all(maker);
	put_find_slot(maker, counter);
	put(maker, LOAD_SLOT);
	put(maker, LESS_OWN);
	other = put_forward(maker, CBNZ_X14);
	put_compare_places(maker);
	above = put_forward(maker, TBZ_X14_63);
	put_find_counter(maker, counter);
	put_add(maker);
	branch_to_here(maker, other);
	branch_to_here(maker, above);
	put_pop_all(maker);
}

/* x14 becomes what was in the slot; if that is 0, the slot is the thread's. x15 is lost. */
static void put_claim(struct maker *maker)
{
	if (maker_has_atomic_add()) {
		put(maker, CLEAR_X14);
		put(maker, CAS);
		return;
	}
	put(maker, LDXR_SLOT);
	put(maker, CBNZ_OVER_STXR);
	put(maker, STXR_SLOT);
	put(maker, CBNZ_TO_SLOT);
}

/*
 * A free slot becomes the thread's. If the thread has the slot already, it is inside, and re-enters
 * deeper; or it left by a path without a probe, and enters from its present place. Threads without
 * a pointer, as those of Go may be, cannot be told apart, and are missed.
 */
static void put_enter(struct maker *maker, const struct patch_counter *counter)
{
	size_t nameless, free_slot, own, missed, inside;

	put_push_all(maker);
	put_find_slot(maker, counter);
	nameless = put_forward(maker, CBZ_X17);
	put_claim(maker);
	free_slot = put_forward(maker, CBZ_X14);
	put(maker, LESS_OWN);
	own = put_forward(maker, CBZ_X14);
	branch_to_here(maker, nameless);
	put_near_address(maker, X16, counter->missed);
	put_add(maker);
	missed = put_forward(maker, JUMP);
	branch_to_here(maker, own);
	put(maker, LOAD_PLACE);
	put_compare_places(maker);
	inside = put_forward(maker, TBNZ_X14_63);
	branch_to_here(maker, free_slot);
	put(maker, STACK_POINTER);
	put(maker, STORE_PLACE);
	branch_to_here(maker, inside);
	put_find_counter(maker, counter);
	put_add(maker);
	branch_to_here(maker, missed);
	put_pop_all(maker);
}

/*
 * The stack pointer is where the gate was entered, or above: its frame is gone. In this order, as
 * another thread may claim the slot and set its place.
 */
static void put_leave(struct maker *maker, const struct patch_counter *counter)
{
	size_t other, deeper;

	put_find_slot(maker, counter);
	put(maker, LOAD_SLOT);
	put(maker, LESS_OWN);
	other = put_forward(maker, CBNZ_X14);
	put_compare_places(maker);
	deeper = put_forward(maker, TBNZ_X14_63);
	put(maker, CLEAR_PLACE);
	put(maker, RELEASE_SLOT);
	branch_to_here(maker, other);
	branch_to_here(maker, deeper);
}

void maker_put_leave(struct maker *maker, const struct patch_counter *counter)
{
	put_push_all(maker);
	put_leave(maker, counter);
	put_pop_all(maker);
}

/* To the end if the address in x17 is in the part; x14 and x16 are lost. */
static size_t put_if_in(struct maker *maker, const struct patch_gate_part *part)
{
	put_near_address(maker, X16, part->start);
	put(maker, UINT32_C(0xcb100230)); /* sub x16, x17, x16 */
	put_value(maker, X14, part->end - part->start);
	put(maker, UINT32_C(0xcb0e020e)); /* sub x14, x16, x14 */
	put(maker, UINT32_C(0x8a3001ce)); /* bic x14, x14, x16 */
	return put_forward(maker, TBNZ_X14_63);
}

void maker_put_leave_to(struct maker *maker, const struct patch_counter *counter, unsigned int reg,
			bool is_signed)
{
	size_t inside[GATE_PARTS_MAX], nr = counter->gate->nr;

	assert(nr <= GATE_PARTS_MAX);
	put_push_all(maker);
	put(maker, UINT32_C(0xaa0003f1) | reg << 16); /* mov x17, reg */
	if (is_signed)
		put(maker, UINT32_C(0xdac143f1)); /* xpaci x17 */
	for (size_t i = 0; i < nr; i++)
		inside[i] = put_if_in(maker, &counter->gate->parts[i]);
	put_leave(maker, counter);
	for (size_t i = 0; i < nr; i++)
		branch_to_here(maker, inside[i]);
	put_pop_all(maker);
}

void maker_put_count(struct maker *maker, const struct patch_counter *counter)
{
	switch (counter->pass) {
	case PATCH_COUNT:
		put_count(maker, counter);
		break;
	case PATCH_COUNT_WITHIN:
		put_count_within(maker, counter);
		break;
	case PATCH_ENTER:
		put_enter(maker, counter);
		break;
	case PATCH_LEAVE:
		maker_put_leave(maker, counter);
		break;
	case PATCH_SPAN_BEGIN:
	case PATCH_SPAN_END:
	case PATCH_SPAN_LEAVE:
	case PATCH_SPAN_FROM:
	case PATCH_SPAN_TO:
	case PATCH_NOTE:
		assert(PATCH_HAS_SPANS);
	}
}

#endif

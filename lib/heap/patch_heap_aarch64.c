// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The short way of an allocation, some fifteen instructions:
 *
 *	units = -(size << 24 | 1); slots[thread].countdown += units; long way if it is negative
 *
 * As callers lose x16 and x17 at every call, and x9 to x15 at calls of exported functions, nothing
 * is saved.
 */
#include "heap/patch_heap.h"

#if defined(__aarch64__)

#include <stddef.h>

#include "code/code_aarch64.h"
#include "patch/maker_aarch64.h"

_Static_assert(sizeof(struct heap_slot) == 1 << HEAP_SLOT_LOG2 && HEAP_SLOTS == 1 << 10,
	       "generated code knows it");
_Static_assert(offsetof(struct heap_slot, countdown) == 0, "generated code knows it");
_Static_assert(offsetof(struct heap_private, filter) % PAGE_BYTES == 0 &&
		       HEAP_FILTER_BYTES == 1 << 16,
	       "generated code knows it");

/* Such blocks an interpreter makes of memory that it has mapped: no hooked function is called. */
#define HEAP_TABLE_SMALL 512

#define GET_THREAD   UINT32_C(0xd53bd050)			     /* mrs x16, tpidr_el0 */
#define SLOT_NUMBER  UINT32_C(0xd34c5610)			     /* ubfx x16, x16, #12, #10 */
#define NO_NUMBER    UINT32_C(0xd2800010)			     /* mov x16, #0 */
#define ADD_SLOT     UINT32_C(0x8b101a31)			     /* add x17, x17, x16, lsl #6 */
#define ADD_ATOMIC   UINT32_C(0xf82f022e)			     /* ldadd x15, x14, [x17] */
#define LDXR	     UINT32_C(0xc85f7e2e)			     /* ldxr x14, [x17] */
#define SUM	     UINT32_C(0x8b0f01d0)			     /* add x16, x14, x15 */
#define STXR	     UINT32_C(0xc80d7e30)			     /* stxr w13, x16, [x17] */
#define CBNZ_TO_LDXR UINT32_C(0x35ffffad)			     /* cbnz w13, .-12 */
#define PRODUCT	     UINT32_C(0x9b017c0f)			     /* mul x15, x0, x1 */
#define PRODUCT_HIGH UINT32_C(0x9bc17c10)			     /* umulh x16, x0, x1 */
#define COMPARE_SIZE (UINT32_C(0xf100003f) | HEAP_TABLE_SMALL << 10) /* cmp x1, #512 */
#define LOAD_X17     UINT32_C(0xf9400231)			     /* ldr x17, [x17] */
#define LOAD_BYTE    UINT32_C(0x38706a30)			     /* ldrb w16, [x17, x16] */

/* The code before the function, and the words where its long ways begin. */
struct prelude {
	const struct patch_heap *heap;
	uint32_t signed_by; /* HEAP_STUB_SIGNED_*, or 0 */
	size_t counted_at, uncounted_at;
};

static size_t put_long_way(struct maker *maker, const struct prelude *prelude, uint32_t how)
{
	size_t at = maker->nr;
	uint32_t word = prelude->heap->hook << HEAP_STUB_HOOK_LOG2 | how | prelude->signed_by;

	put_value(maker, X16, word);
	put_branch(maker, prelude->heap->stub);
	return at;
}

/* The offset to a word before the next one, in a conditional branch. */
static uint32_t back_to(const struct maker *maker, size_t word, uint32_t mask)
{
	return ((uint32_t)(word - maker->nr) & mask) << 5;
}

/* cbnz x16, or w16, which is zero-extended */
static void put_unless_zero(struct maker *maker, size_t to)
{
	put(maker, UINT32_C(0xb5000000) | back_to(maker, to, 0x7ffff) | X16);
}

/* b.hi */
static void put_if_higher(struct maker *maker, size_t to)
{
	put(maker, UINT32_C(0x54000008) | back_to(maker, to, 0x7ffff));
}

/* tbnz x16, #63 */
static void put_if_negative(struct maker *maker, size_t to)
{
	put(maker, UINT32_C(0xb7f80000) | back_to(maker, to, 0x3fff) | X16);
}

/* Puts into x15 what an allocation takes from the countdown: minus the units of its size. */
static void put_units(struct maker *maker, const struct prelude *prelude)
{
	uint32_t size = X0;

	if (prelude->heap->is_of_table) {
		put(maker, COMPARE_SIZE);
		put_if_higher(maker, prelude->uncounted_at);
		size = X1;
	}
	if (prelude->heap->function == HEAP_CALLOC) {
		put(maker, PRODUCT_HIGH);
		put_unless_zero(maker, prelude->uncounted_at);
		put(maker, PRODUCT);
		size = X15;
	}
	/* lsr x16, size, #34 */
	put(maker, UINT32_C(0xd340fc00) | HEAP_SIZE_LOG2 << 16 | size << 5 | X16);
	put_unless_zero(maker, prelude->uncounted_at);
	/* mvn x15, size, lsl #24 */
	put(maker, UINT32_C(0xaa2003e0) | size << 16 | HEAP_COUNT_LOG2 << 10 | X15);
}

/* Counts in the slot at x17: its former countdown is in x14, and the new one in x16. */
static void put_count(struct maker *maker, const struct patch_heap *heap)
{
	if (heap->threads == HEAP_THREADS_AS_ONE) {
		put(maker, NO_NUMBER);
	} else {
		put(maker, GET_THREAD);
		put(maker, SLOT_NUMBER);
	}
	put_near_address(maker, X17, heap->shared + offsetof(struct heap_shared, slots));
	put(maker, ADD_SLOT);
	if (maker_has_atomic_add()) {
		put(maker, ADD_ATOMIC);
		put(maker, SUM);
		return;
	}
	put(maker, LDXR);
	put(maker, SUM);
	put(maker, STXR);
	put(maker, CBNZ_TO_LDXR);
}

static void put_allocation(struct maker *maker, struct prelude *prelude)
{
	prelude->counted_at = put_long_way(maker, prelude, HEAP_STUB_COUNTED);
	maker->entry = maker->nr;
	put_units(maker, prelude);
	put_count(maker, prelude->heap);
	put_if_negative(maker, prelude->counted_at);
}

static void put_filter(struct maker *maker, const struct prelude *prelude)
{
	const struct patch_heap *heap = prelude->heap;
	const uint32_t pages = offsetof(struct heap_private, filter) / PAGE_BYTES;
	uint32_t pointer = heap->is_of_table ? X1 : X0;

	/* ubfx x16, pointer, #4, #16 */
	put(maker, UINT32_C(0xd3444c00) | pointer << 5 | X16);
	put_near_address(maker, X17, heap->rules + offsetof(struct heap_rules, private_address));
	put(maker, LOAD_X17);
	/* add x17, x17, #pages, lsl #12 */
	put(maker, UINT32_C(0x91400000) | pages << 10 | X17 << 5 | X17);
	put(maker, LOAD_BYTE);
	put_unless_zero(maker, prelude->uncounted_at);
}

static void put_prelude(struct maker *maker, const void *context)
{
	struct prelude prelude = *(const struct prelude *)context;
	const struct patch_heap *heap = prelude.heap;

	if (heap->is_all || heap->is_framed || !patch_heap_has_short_way(heap)) {
		put_long_way(maker, &prelude, HEAP_STUB_FRAMED);
		return;
	}
	prelude.uncounted_at =
		put_long_way(maker, &prelude, heap->is_of_table ? HEAP_STUB_FRAMED : 0);
	if (heap->function == HEAP_FREE || heap->function == HEAP_POOL_FREE) {
		maker->entry = maker->nr;
		put_filter(maker, &prelude);
		return;
	}
	put_allocation(maker, &prelude);
}

/* Where the function's first word has signed the return address before the probe. */
static uint32_t signed_by(const struct patch_function *function)
{
	uint32_t word = function->nr_readable < WORD_BYTES ? 0 : word_at(function->bytes);

	return word == PACIASP ? HEAP_STUB_SIGNED_A : word == PACIBSP ? HEAP_STUB_SIGNED_B : 0;
}

enum patch_outcome patch_heap_entry(struct patch *patch, const struct patch_function *function,
				    const struct branches *branches, struct code_area *area,
				    const struct patch_heap *heap, uint64_t *original)
{
	const struct prelude prelude = {.heap = heap, .signed_by = signed_by(function)};

	return patch_entry_behind(patch, function, branches, area, put_prelude, &prelude, original);
}

/* How far before a branch through a register the loads of its target are searched. */
#define NEAR_WORDS 16

/* The word before `at` that sets the register; or NULL. */
static const uint8_t *setter_of(const struct patch_heap_leads *leads, size_t at, unsigned int reg,
				struct a64_instruction *code)
{
	for (size_t i = 1; i <= NEAR_WORDS && i * WORD_BYTES <= at; i++) {
		const uint8_t *bytes = leads->bytes + at - i * WORD_BYTES;

		a64_decode(word_at(bytes), leads->address + at - i * WORD_BYTES, code);
		if ((code->is_load && (code->reg[0] == reg || code->reg[1] == reg)) ||
		    ((code->effect == A64_EFFECT_SET || code->effect == A64_EFFECT_ADD) &&
		     code->reg[0] == reg))
			return bytes;
	}
	return NULL;
}

/* The address of the word that has the target of a branch through a register; 0: not known. */
static uint64_t word_of_branch(const struct patch_heap_leads *leads, size_t at, uint32_t branch)
{
	struct a64_instruction load, page;
	const uint8_t *load_at = setter_of(leads, at, branch >> 5 & 31, &load);
	const uint8_t *page_at;
	uint64_t address;

	if (!load_at || !load.is_access || !load.is_word || load.moves_base ||
	    load.reg[1] != A64_NO_REG)
		return 0;
	page_at = setter_of(leads, (size_t)(load_at - leads->bytes), load.base, &page);
	if (!page_at || !a64_page(word_at(page_at),
				  leads->address + (uint64_t)(page_at - leads->bytes), &address))
		return 0;
	return address + (uint64_t)load.offset;
}

bool patch_heap_leads_next(struct patch_heap_leads *leads, uint64_t *target, bool *is_word)
{
	while (leads->at + WORD_BYTES <= leads->nr_bytes) {
		size_t at = leads->at;
		uint32_t word = word_at(leads->bytes + at);
		struct a64_instruction code;

		leads->at += WORD_BYTES;
		a64_decode(word, leads->address + at, &code);
		*target = code.target;
		*is_word = false;
		if (code.target)
			return true;
		if (code.effect != A64_EFFECT_CALL && code.effect != A64_EFFECT_LEAVE &&
		    code.effect != A64_EFFECT_STOP)
			continue;
		*target = word_of_branch(leads, at, word);
		*is_word = true;
		if (*target)
			return true;
	}
	return false;
}

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The short way of an allocation, some fifteen instructions:
 *
 *	units = -(size << 24 | 1); add units, own_slots[thread].countdown; js long way
 *
 * or, where the thread has no slot of its own, `lock xadd` in one that it shares with others.
 */
#include "heap/patch_heap.h"

#include <stddef.h>

#if defined(__x86_64__)

#include "code/code_x86_64.h"
#include "patch/maker_x86_64.h"

_Static_assert(sizeof(struct heap_slot) == 1 << HEAP_SLOT_LOG2, "generated code knows it");
_Static_assert(sizeof(struct heap_own_slot) == 1 << HEAP_OWN_SLOT_LOG2, "generated code knows it");
_Static_assert(offsetof(struct heap_slot, countdown) == 0, "generated code knows it");
_Static_assert(offsetof(struct heap_private, owners) == 0 && HEAP_FILTER_BYTES == 1 << 16,
	       "generated code knows it");

/* The word for the stub lies so far below the stack pointer: in the red zone, which signals spare.
 */
#define STUB_WORD_BELOW 24

/* Such blocks an interpreter makes of memory that it has mapped: no hooked function is called. */
#define HEAP_TABLE_SMALL 512

/* The code before the function, and where its long ways begin. */
struct prelude {
	const struct patch_heap *heap;
	size_t counted_at, uncounted_at;
};

static size_t put_long_way(struct maker *maker, const struct patch_heap *heap, uint32_t how)
{
	size_t at = maker->nr_bytes;
	uint32_t word = heap->hook << HEAP_STUB_HOOK_LOG2 | how;

	/* movl $word,-24(%rsp): no register is lost */
	put(maker, (const uint8_t[]){0xc7, 0x44, 0x24, (uint8_t)-STUB_WORD_BELOW}, 4);
	put(maker, &word, sizeof(word));
	put(maker, "\xe9", 1);
	put_displacement(maker, heap->stub);
	return at;
}

/* Puts into r10 what an allocation takes from the countdown: minus the units of its size. */
static void put_units(struct maker *maker, const struct prelude *prelude)
{
	if (prelude->heap->is_of_table) {
		const uint32_t most = HEAP_TABLE_SMALL;

		put(maker, "\x48\x81\xfe", 3); /* cmp $most,%rsi */
		put(maker, &most, sizeof(most));
		put_jump_back(maker, JA, prelude->uncounted_at);
		put(maker, "\x49\x89\xf2", 3); /* mov %rsi,%r10 */
	} else {
		put(maker, "\x49\x89\xfa", 3); /* mov %rdi,%r10 */
	}
	if (prelude->heap->function == HEAP_CALLOC) {
		put(maker, "\x4c\x0f\xaf\xd6", 4); /* imul %rsi,%r10 */
		put_jump_back(maker, JO, prelude->uncounted_at);
	}
	put(maker, "\x4d\x89\xd3", 3);					    /* mov %r10,%r11 */
	put(maker, (const uint8_t[]){0x49, 0xc1, 0xeb, HEAP_SIZE_LOG2}, 4); /* shr $34,%r11 */
	put_jump_back(maker, JNE, prelude->uncounted_at);
	put(maker, (const uint8_t[]){0x49, 0xc1, 0xe2, HEAP_COUNT_LOG2}, 4); /* shl $24,%r10 */
	put(maker, "\x49\xf7\xd2", 3); /* not %r10: without the carry of neg */
}

/* lea place(%rip),%r11 */
static void put_place(struct maker *maker, const struct patch_heap *heap, uint64_t offset)
{
	put(maker, "\x4c\x8d\x1d", 3);
	put_displacement(maker, heap->shared + offset);
}

/* Counts in a slot that threads share: the one at r11 + rax, from the word at fs:0 or fs itself. */
static void put_shared_count(struct maker *maker, const struct patch_heap *heap)
{
	const uint32_t mask = (HEAP_SLOTS - 1) << HEAP_SLOT_LOG2;

	if (heap->threads == HEAP_THREADS_AS_ONE) {
		put(maker, "\x31\xc0", 2); /* xor %eax,%eax */
	} else {
		if (heap->threads == HEAP_THREADS_BY_DATA)
			maker_put_thread(maker, RAX);
		else
			put(maker, "\xf3\x48\x0f\xae\xc0", 5); /* rdfsbase %rax */
		/* shr $n,%eax */
		put(maker, (const uint8_t[]){0xc1, 0xe8, 12 - HEAP_SLOT_LOG2}, 3);
		put(maker, "\x25", 1); /* and $mask,%eax */
		put(maker, &mask, sizeof(mask));
	}
	put_place(maker, heap, offsetof(struct heap_shared, slots));
	put(maker, "\xf0\x4d\x0f\xc1\x14\x03", 6); /* lock xadd %r10,(%r11,%rax) */
}

/*
 * Counts in the thread's own slot, likewise, or goes to where a shared one is used. No signal
 * handler can come into the addition, as it is one instruction. To get the former countdown by that
 * instruction, xadd, takes 1.3 ns longer.
 */
static void put_own_count(struct maker *maker, const struct prelude *prelude, size_t shared_at)
{
	const uint64_t end = offsetof(struct heap_shared, own_slots) +
			     HEAP_OWN_SLOTS * sizeof(struct heap_own_slot);

	maker_put_thread(maker, RAX);
	maker_put_number(maker, prelude->heap->rules + offsetof(struct heap_rules, private_address),
			 HEAP_OWN_SLOTS);
	put_jump_back(maker, JB, shared_at);
	put(maker, (const uint8_t[]){0x48, 0xc1, 0xe0, HEAP_OWN_SLOT_LOG2}, 4); /* shl $7,%rax */
	put_place(maker, prelude->heap, end);
	put(maker, "\x4d\x01\x14\x03", 4); /* add %r10,(%r11,%rax) */
}

/*
 * Goes the long way if the countdown has fallen below zero: with its former value in r10 if the
 * slot is shared, else with what was added.
 */
static void put_allocation(struct maker *maker, struct prelude *prelude)
{
	const struct patch_heap *heap = prelude->heap;
	size_t shared_at, counted;

	prelude->counted_at = maker->nr_bytes;
	put(maker, "\x4d\x8d\x1c\x03", 4); /* lea (%r11,%rax),%r11 */
	put(maker, "\x4c\x89\xd0", 3);	   /* mov %r10,%rax */
	put_long_way(maker, heap, HEAP_STUB_COUNTED);
	if (heap->has_own_slots) {
		shared_at = maker->nr_bytes;
		put_shared_count(maker, heap);
		counted = put_short_jump(maker, JMP);
		maker_put_entry(maker);
		put_units(maker, prelude);
		put_own_count(maker, prelude, shared_at);
		jump_to_here(maker, counted);
	} else {
		maker_put_entry(maker);
		put_units(maker, prelude);
		put_shared_count(maker, heap);
	}
	put_jump_back(maker, JS, prelude->counted_at);
}

static void put_filter(struct maker *maker, const struct prelude *prelude)
{
	const uint32_t at = offsetof(struct heap_private, filter);

	/* mov %esi,%eax or mov %edi,%eax */
	put(maker, prelude->heap->is_of_table ? "\x89\xf0" : "\x89\xf8", 2);
	put(maker, "\xc1\xe8\x04", 3); /* shr $4,%eax */
	put(maker, "\x0f\xb7\xc0", 3); /* movzwl %ax,%eax */
	put(maker, "\x4c\x8b\x1d", 3); /* mov private(%rip),%r11 */
	put_displacement(maker,
			 prelude->heap->rules + offsetof(struct heap_rules, private_address));
	put(maker, "\x41\x80\xbc\x03", 4); /* cmpb $0,filter(%r11,%rax) */
	put(maker, &at, sizeof(at));
	put(maker, "\x00", 1);
	put_jump_back(maker, JNE, prelude->uncounted_at);
}

static void put_prelude(struct maker *maker, const void *context)
{
	struct prelude prelude = {.heap = context};
	const struct patch_heap *heap = prelude.heap;

	if (heap->is_all || heap->is_framed || !patch_heap_has_short_way(heap)) {
		maker_put_entry(maker);
		put_long_way(maker, heap, HEAP_STUB_FRAMED);
		return;
	}
	prelude.uncounted_at = put_long_way(maker, heap, heap->is_of_table ? HEAP_STUB_FRAMED : 0);
	if (heap->function == HEAP_FREE || heap->function == HEAP_POOL_FREE) {
		maker_put_entry(maker);
		put_filter(maker, &prelude);
		return;
	}
	put_allocation(maker, &prelude);
}

enum patch_outcome patch_heap_entry(struct patch *patch, const struct patch_function *function,
				    const struct branches *branches, struct code_area *area,
				    const struct patch_heap *heap, uint64_t *original)
{
	return patch_entry_behind(patch, function, branches, area, put_prelude, heap, original);
}

bool patch_heap_leads_next(struct patch_heap_leads *leads, uint64_t *target, bool *is_word)
{
	struct code_instruction code;

	while (leads->at < leads->nr_bytes) {
		uint64_t address = leads->address + leads->at;

		if (!code_decode(leads->bytes + leads->at, leads->nr_bytes - leads->at, address,
				 &code)) {
			leads->at++;
			continue;
		}
		leads->at += code.nr_bytes;
		*is_word = !code.target;
		*target = code.target ? code.target : code.operand;
		if (code.target || code.effect == CODE_EFFECT_JUMP_GOT ||
		    (code.effect == CODE_EFFECT_CALL && code.disp_at))
			return true;
	}
	return false;
}

#endif

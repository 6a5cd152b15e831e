// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The short way of an allocation, some ten instructions, of which only xadd takes time:
 *
 *	units = -(size << 24 | 1); lock xadd units, slots[thread].countdown; js long way
 */
#include "heap/patch_heap.h"

#include <stddef.h>

#if defined(__x86_64__)

#include "code/code_x86_64.h"
#include "patch/maker_x86_64.h"

_Static_assert(sizeof(struct heap_slot) == 1 << HEAP_SLOT_LOG2, "generated code knows it");
_Static_assert(offsetof(struct heap_slot, countdown) == 0, "generated code knows it");
_Static_assert(offsetof(struct heap_private, filter) == 0 && HEAP_FILTER_BYTES == 1 << 16,
	       "generated code knows it");

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
	put(maker, (const uint8_t[]){0xc7, 0x44, 0x24, (uint8_t)-HEAP_STUB_WORD_BELOW}, 4);
	put(maker, &word, sizeof(word));
	put(maker, "\xe9", 1);
	put_displacement(maker, heap->stub);
	return at;
}

/* Puts the slot's offset into r11, from the word at fs:0 or from fs itself. */
static void put_thread(struct maker *maker, enum heap_threads threads)
{
	const uint32_t mask = (HEAP_SLOTS - 1) << HEAP_SLOT_LOG2;

	if (threads == HEAP_THREADS_BY_DATA)
		put(maker, "\x64\x4c\x8b\x1c\x25\0\0\0\0", 9); /* mov %fs:0,%r11 */
	else
		put(maker, "\xf3\x49\x0f\xae\xc3", 5);				 /* rdfsbase %r11 */
	put(maker, (const uint8_t[]){0x41, 0xc1, 0xeb, 12 - HEAP_SLOT_LOG2}, 4); /* shr $n,%r11d */
	put(maker, "\x41\x81\xe3", 3); /* and $mask,%r11d */
	put(maker, &mask, sizeof(mask));
}

/* The size is in rax. If the countdown falls below zero, rax has its former value. */
static void put_countdown(struct maker *maker, const struct prelude *prelude)
{
	const struct patch_heap *heap = prelude->heap;
	uint64_t slots = heap->shared + offsetof(struct heap_shared, slots);

	put(maker, "\x49\x89\xc2", 3);					    /* mov %rax,%r10 */
	put(maker, (const uint8_t[]){0x49, 0xc1, 0xea, HEAP_SIZE_LOG2}, 4); /* shr $34,%r10 */
	put_short_jump_back(maker, JNE, prelude->uncounted_at);
	put(maker, (const uint8_t[]){0x48, 0xc1, 0xe0, HEAP_COUNT_LOG2}, 4); /* shl $24,%rax */
	put(maker, "\x48\xf7\xd0", 3); /* not %rax: -units, without the carry of neg */
	if (heap->threads == HEAP_THREADS_AS_ONE) {
		put(maker, "\xf0\x48\x0f\xc1\x05", 5); /* lock xadd %rax,slots(%rip) */
		put_displacement(maker, slots);
	} else {
		put_thread(maker, heap->threads);
		put(maker, "\x4c\x8d\x15", 3); /* lea slots(%rip),%r10 */
		put_displacement(maker, slots);
		put(maker, "\xf0\x4b\x0f\xc1\x04\x1a", 6); /* lock xadd %rax,(%r10,%r11) */
	}
	put_short_jump_back(maker, JS, prelude->counted_at);
}

static void put_filter(struct maker *maker, const struct prelude *prelude)
{
	put(maker, "\x89\xf8", 2);     /* mov %edi,%eax */
	put(maker, "\xc1\xe8\x04", 3); /* shr $4,%eax */
	put(maker, "\x0f\xb7\xc0", 3); /* movzwl %ax,%eax */
	put(maker, "\x4c\x8b\x1d", 3); /* mov filter(%rip),%r11 */
	put_displacement(maker,
			 prelude->heap->rules + offsetof(struct heap_rules, private_address));
	put(maker, "\x41\x80\x3c\x03\x00", 5); /* cmpb $0,(%r11,%rax) */
	put_short_jump_back(maker, JNE, prelude->uncounted_at);
}

/* Does it have a short way? Others always take the long way. */
static bool has_short_way(enum heap_function function)
{
	switch (function) {
	case HEAP_MALLOC:
	case HEAP_CALLOC:
	case HEAP_NEW:
	case HEAP_NEW_ALIGNED:
	case HEAP_FREE:
		return true;
	case HEAP_REALLOC:
	case HEAP_REALLOCARRAY:
	case HEAP_MEMALIGN:
	case HEAP_POSIX_MEMALIGN:
	case HEAP_VALLOC:
	case HEAP_NEW_NOTHROW_ALIGNED:
	case HEAP_POOL:
	case HEAP_POOL_FREE:
	case HEAP_MAP:
	case HEAP_UNMAP:
	case HEAP_REMAP:
	case HEAP_EXIT:
	case HEAP_FUNCTION_COUNT:
		break;
	}
	return false;
}

static void put_prelude(struct maker *maker, const void *context)
{
	struct prelude prelude = {.heap = context};
	const struct patch_heap *heap = prelude.heap;

	if (heap->is_all || heap->is_framed || !has_short_way(heap->function)) {
		put_long_way(maker, heap, HEAP_STUB_FRAMED);
		return;
	}
	prelude.uncounted_at = put_long_way(maker, heap, 0);
	if (heap->function == HEAP_FREE) {
		maker->entry = maker->nr_bytes;
		put_filter(maker, &prelude);
		return;
	}
	prelude.counted_at = put_long_way(maker, heap, HEAP_STUB_COUNTED);
	maker->entry = maker->nr_bytes;
	put(maker, "\x48\x89\xf8", 3); /* mov %rdi,%rax */
	if (heap->function == HEAP_CALLOC) {
		put(maker, "\x48\x0f\xaf\xc6", 4); /* imul %rsi,%rax */
		put_short_jump_back(maker, JO, prelude.uncounted_at);
	}
	put_countdown(maker, &prelude);
}

enum patch_outcome patch_heap_entry(struct patch *patch, const struct patch_function *function,
				    const struct branches *branches, struct code_area *area,
				    const struct patch_heap *heap, uint64_t *original)
{
	enum patch_outcome outcome =
		patch_entry_behind(patch, function, branches, area, put_prelude, heap);

	if (!outcome)
		*original = patch->thunk + patch->steps[1].offset;
	return outcome;
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

#else

enum patch_outcome patch_heap_entry(struct patch *patch, const struct patch_function *function,
				    const struct branches *branches, struct code_area *area,
				    const struct patch_heap *heap, uint64_t *original)
{
	(void)patch;
	(void)function;
	(void)branches;
	(void)area;
	(void)heap;
	(void)original;
	return PATCH_UNSUPPORTED;
}

bool patch_heap_leads_next(struct patch_heap_leads *leads, uint64_t *target, bool *is_word)
{
	(void)leads;
	(void)target;
	(void)is_word;
	return false;
}

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The short way of an allocation, some ten instructions, of which only xadd takes time:
 *
 *	units = -(size << 24 | 1); lock xadd units, slots[thread].countdown; js long way
 */
#include "heap/patch_heap.h"

#include <stddef.h>
#include <string.h>

#include "patch/entry_prelude.h"

#if defined(__x86_64__)

#include "code/code_x86_64.h"

_Static_assert(sizeof(struct heap_slot) == 1 << HEAP_SLOT_LOG2, "generated code knows it");
_Static_assert(offsetof(struct heap_slot, countdown) == 0, "generated code knows it");
_Static_assert(offsetof(struct heap_private, filter) == 0 && HEAP_FILTER_BYTES == 1 << 16,
	       "generated code knows it");

struct making {
	struct patch_prelude prelude;
	const struct patch_heap *heap;
	uint8_t counted_at, uncounted_at; /* where the long ways begin */
};

static void put(struct making *making, const void *bytes, size_t nr)
{
	struct patch_prelude *prelude = &making->prelude;

	memcpy(prelude->bytes + prelude->nr_bytes, bytes, nr);
	prelude->nr_bytes = (uint8_t)(prelude->nr_bytes + nr);
}

/* The last four bytes of an instruction, which refer to the target. */
static void put_reference(struct making *making, uint64_t target)
{
	struct patch_prelude *prelude = &making->prelude;

	prelude->references[prelude->nr_references++] = (struct patch_reference){
		.at = prelude->nr_bytes,
		.end = (uint8_t)(prelude->nr_bytes + 4),
		.target = target,
	};
	put(making, "\0\0\0\0", 4);
}

static void put_branch_back(struct making *making, uint8_t opcode, uint8_t target)
{
	const uint8_t distance = (uint8_t)(target - (making->prelude.nr_bytes + 2));

	put(making, &opcode, 1);
	put(making, &distance, 1);
}

static uint8_t put_long_way(struct making *making, uint32_t how)
{
	uint8_t at = making->prelude.nr_bytes;
	uint32_t word = making->heap->hook << HEAP_STUB_HOOK_LOG2 | how;

	/* movl $word,-24(%rsp): no register is lost */
	put(making, (const uint8_t[]){0xc7, 0x44, 0x24, (uint8_t)-HEAP_STUB_WORD_BELOW}, 4);
	put(making, &word, sizeof(word));
	put(making, "\xe9", 1);
	put_reference(making, making->heap->stub);
	return at;
}

/* Puts the slot's offset into r11, from the word at fs:0 or from fs itself. */
static void put_thread(struct making *making)
{
	const uint32_t mask = (HEAP_SLOTS - 1) << HEAP_SLOT_LOG2;

	if (making->heap->threads == HEAP_THREADS_BY_DATA)
		put(making, "\x64\x4c\x8b\x1c\x25\0\0\0\0", 9); /* mov %fs:0,%r11 */
	else
		put(making, "\xf3\x49\x0f\xae\xc3", 5); /* rdfsbase %r11 */
	put(making, (const uint8_t[]){0x41, 0xc1, 0xeb, 12 - HEAP_SLOT_LOG2}, 4); /* shr $n,%r11d */
	put(making, "\x41\x81\xe3", 3); /* and $mask,%r11d */
	put(making, &mask, sizeof(mask));
}

/* The size is in rax. If the countdown falls below zero, rax has its former value. */
static void put_countdown(struct making *making)
{
	uint64_t slots = making->heap->shared + offsetof(struct heap_shared, slots);

	put(making, "\x49\x89\xc2", 3);					      /* mov %rax,%r10 */
	put(making, (const uint8_t[]){0x49, 0xc1, 0xea, HEAP_SIZE_LOG2}, 4);  /* shr $34,%r10 */
	put_branch_back(making, 0x75, making->uncounted_at);		      /* jnz */
	put(making, (const uint8_t[]){0x48, 0xc1, 0xe0, HEAP_COUNT_LOG2}, 4); /* shl $24,%rax */
	put(making, "\x48\xf7\xd0", 3); /* not %rax: -units, without the carry of neg */
	if (making->heap->threads == HEAP_THREADS_AS_ONE) {
		put(making, "\xf0\x48\x0f\xc1\x05", 5); /* lock xadd %rax,slots(%rip) */
		put_reference(making, slots);
	} else {
		put_thread(making);
		put(making, "\x4c\x8d\x15", 3); /* lea slots(%rip),%r10 */
		put_reference(making, slots);
		put(making, "\xf0\x4b\x0f\xc1\x04\x1a", 6); /* lock xadd %rax,(%r10,%r11) */
	}
	put_branch_back(making, 0x78, making->counted_at); /* js */
}

static void put_filter(struct making *making)
{
	uint64_t filter = making->heap->rules + offsetof(struct heap_rules, private_address);

	put(making, "\x89\xf8", 2);	/* mov %edi,%eax */
	put(making, "\xc1\xe8\x04", 3); /* shr $4,%eax */
	put(making, "\x0f\xb7\xc0", 3); /* movzwl %ax,%eax */
	put(making, "\x4c\x8b\x1d", 3); /* mov filter(%rip),%r11 */
	put_reference(making, filter);
	put(making, "\x41\x80\x3c\x03\x00", 5);		     /* cmpb $0,(%r11,%rax) */
	put_branch_back(making, 0x75, making->uncounted_at); /* jne */
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

static void make_prelude(struct making *making)
{
	enum heap_function function = making->heap->function;

	if (making->heap->is_all || making->heap->is_framed || !has_short_way(function)) {
		put_long_way(making, HEAP_STUB_FRAMED);
		return;
	}
	making->uncounted_at = put_long_way(making, 0);
	if (function == HEAP_FREE) {
		making->prelude.entry = making->prelude.nr_bytes;
		put_filter(making);
		return;
	}
	making->counted_at = put_long_way(making, HEAP_STUB_COUNTED);
	making->prelude.entry = making->prelude.nr_bytes;
	put(making, "\x48\x89\xf8", 3); /* mov %rdi,%rax */
	if (function == HEAP_CALLOC) {
		put(making, "\x48\x0f\xaf\xc6", 4);		     /* imul %rsi,%rax */
		put_branch_back(making, 0x70, making->uncounted_at); /* jo */
	}
	put_countdown(making);
}

enum patch_outcome patch_heap_entry(struct patch *patch, const struct patch_function *function,
				    const struct branches *branches, struct code_area *area,
				    const struct patch_heap *heap, uint64_t *original)
{
	struct making making = {.heap = heap};
	enum patch_outcome outcome;

	make_prelude(&making);
	outcome = patch_entry_behind(patch, function, branches, area, &making.prelude);
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

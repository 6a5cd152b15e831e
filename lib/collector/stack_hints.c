// SPDX-License-Identifier: GPL-2.0-or-later
/* How much of a stack the next capture needs, as shown by the last walks. */
#include "base/minmax.h"
#include "collector/message.h"
#include "collector/walk.h"
#include "snapshot/snapshot.h"

/* However deep a recursion is, more than this is never copied. */
#define LARGEST_STACK_BYTES (64u * 1024 * 1024)

/*
 * The walk wanted memory above the copy: let the next copy of this thread be larger, but only if
 * that can help. A wild pointer would make every copy the largest, for nothing.
 */
static void ask_for_more_stack(struct thread_hints *hints, const struct snapshot *snapshot,
			       const struct unwind_walk *walk)
{
	const struct stack_region *region = &snapshot->regions[0];
	uint32_t limit;
	uint32_t grown;

	if (walk->end != STACK_END_BAD_MEMORY)
		return;
	limit = hints->max_stack_bytes;
	/* A copy that ended before the limit was complete. */
	if (region->nr_bytes < limit || walk->wanted_address < region->start + limit)
		return;
	grown = limit > LARGEST_STACK_BYTES / 8 ? LARGEST_STACK_BYTES : limit * 8;
	if (walk->wanted_address - region->start >= grown)
		return;
	hints->max_stack_bytes = grown;
}

/* This many walks show how deep a thread's stacks are, within a factor. */
#define ENOUGH_WALKS	     32
#define DEPTH_FACTOR	     4
#define SMALLEST_STACK_BYTES (32u * 1024)

/*
 * A stack that ends amid other memory, as those of Go's goroutines and of coroutines do, is copied
 * up to the limit each time: so that is lowered to a multiple of the bytes that walks have needed.
 * If one ever needs more, ask_for_more_stack() raises it again.
 */
static void ask_for_less_stack(struct thread_hints *hints, struct stack_needs *needs,
			       const struct snapshot *snapshot, const struct unwind_walk *walk)
{
	const struct stack_region *region = &snapshot->regions[0];
	uint64_t wanted;

	if (walk->end_sp < region->start || walk->end_sp - region->start > region->nr_bytes)
		return;
	if (walk->end_sp - region->start > needs->deepest_bytes)
		needs->deepest_bytes = (uint32_t)(walk->end_sp - region->start);
	if (needs->nr_walks < ENOUGH_WALKS && ++needs->nr_walks < ENOUGH_WALKS)
		return;
	wanted = max_u64((uint64_t)needs->deepest_bytes * DEPTH_FACTOR, SMALLEST_STACK_BYTES);
	if (wanted < hints->max_stack_bytes)
		hints->max_stack_bytes = (uint32_t)wanted;
}

/* This many complete walks in a row that end in one place show where the stack begins. */
#define ENOUGH_ROOTS 8

/* Does the walk go beyond the supposed end of the stack that it is on? */
static bool passes_root(const struct snapshot *snapshot, const struct unwind_walk *walk,
			uint64_t root_sp)
{
	uint64_t reached = walk->end == STACK_END_ROOT ? walk->end_sp : walk->wanted_address;

	return snapshot->regions[0].start < root_sp && reached > root_sp;
}

/*
 * Above the outermost frame of a thread are its own data, perhaps hundreds of kilobytes: they are
 * not copied once that place is known.
 */
static void note_root(struct thread_hints *hints, struct stack_needs *needs,
		      const struct snapshot *snapshot, const struct unwind_walk *walk)
{
	uint64_t known;

	if (needs->has_other_roots)
		return;
	known = hints->root_sp;
	if (known && passes_root(snapshot, walk, known)) {
		needs->has_other_roots = true;
		hints->root_sp = 0;
		return;
	}
	if (known || walk->end != STACK_END_ROOT || !walk->end_sp)
		return;
	needs->nr_to_root = walk->end_sp == needs->root_sp ? needs->nr_to_root + 1 : 1;
	needs->root_sp = walk->end_sp;
	if (needs->nr_to_root == ENOUGH_ROOTS)
		hints->root_sp = walk->end_sp;
}

void stack_hints_update(struct thread_hints *hints, struct stack_needs *needs,
			const struct snapshot *snapshot, const struct unwind_walk *walk)
{
	/* Peeks have no saved registers; frames that need them need a stop. */
	if (walk->end == STACK_END_UNKNOWN_REG)
		hints->needs_registers = true;
	/*
	 * A stack that was switched to: its caller is on another one, which the next copy must
	 * have.
	 */
	if (walk->end == STACK_END_OTHER_STACK && walk->wanted_address)
		hints->behind_sp = walk->wanted_address;
	if (!snapshot->nr_regions)
		return;
	ask_for_less_stack(hints, needs, snapshot, walk);
	ask_for_more_stack(hints, snapshot, walk);
	note_root(hints, needs, snapshot, walk);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* How much of a stack the next capture needs, by what the walks of the last ones wanted. */
#include "base/minmax.h"
#include "collector/message.h"
#include "collector/walk.h"
#include "snapshot/snapshot.h"

/* However deep a recursion is, more than this is never copied. */
#define LARGEST_STACK_BYTES (64u * 1024 * 1024)

/*
 * The walk wanted what lies above the copy: let the next one of this thread be larger. Only
 * if that can help: a pointer into nowhere would make every copy the largest, for nothing.
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
	/* A copy that ended before the limit had all there was. */
	if (region->nr_bytes < limit || walk->wanted_address < region->start + limit)
		return;
	grown = limit > LARGEST_STACK_BYTES / 8 ? LARGEST_STACK_BYTES : limit * 8;
	if (walk->wanted_address - region->start >= grown)
		return;
	hints->max_stack_bytes = grown;
}

/* So many walks tell how deep a thread's stacks are, give or take a factor. */
#define ENOUGH_WALKS	     32
#define DEPTH_FACTOR	     4
#define SMALLEST_STACK_BYTES (32u * 1024)

/*
 * Where the stack ends in the midst of other memory, as those of Go's goroutines and of
 * coroutines do, all of the limit is copied each time: it is lowered to a multiple of what
 * walks have needed. Should one ever need more, ask_for_more_stack() raises it again.
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

/* So many whole walks that end at the same place tell where its stack begins. */
#define ENOUGH_ROOTS 8

/* Does it go beyond what was taken for the end of the stack that it is on? */
static bool passes_root(const struct snapshot *snapshot, const struct unwind_walk *walk,
			uint64_t root_sp)
{
	uint64_t reached = walk->end == STACK_END_ROOT ? walk->end_sp : walk->wanted_address;

	return snapshot->regions[0].start < root_sp && reached > root_sp;
}

/*
 * Above the outermost frame of a thread are its own data, which may be hundreds of kilobytes: they
 * are not copied once it is known where that is.
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
	/* Peeks tell no saved registers; where frames need them, it takes a stop. */
	if (walk->end == STACK_END_UNKNOWN_REG)
		hints->needs_registers = true;
	/* A stack that was switched to: its caller is on another one, which the next copy is to
	 * have. */
	if (walk->end == STACK_END_OTHER_STACK && walk->wanted_address)
		hints->behind_sp = walk->wanted_address;
	if (!snapshot->nr_regions)
		return;
	ask_for_less_stack(hints, needs, snapshot, walk);
	ask_for_more_stack(hints, snapshot, walk);
	note_root(hints, needs, snapshot, walk);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the top of a thread's own stack, to prove roots. That of the main thread is in
 * proc_pid_stat(5) (startstack). The stack of any other thread ends below its thread pointer, as C
 * libraries put thread-local data at the end of the memory of the stack.
 */
#include "unwind/root.h"

#include "mapping/space.h"
#include "snapshot/snapshot.h"
#include "unwind/rows.h"

/* Thread-local data (TLS) is between a thread's outermost frame and its thread pointer. */
#define THREAD_DATA_BYTES (UINT64_C(64) * 1024)
/* A program's first function pushes and aligns at most this much. */
#define FIRST_FRAME_BYTES UINT64_C(512)

/* A frame with a caller nearly always has its return address within this distance. */
#define WORDS_ABOVE 128

/* Is the top of a stack at `top` (0: not known), no more than nr_bytes above sp? */
static bool is_below(const struct walk *walk, uint64_t sp, uint64_t top, uint64_t nr_bytes)
{
	const struct mapping *mapping = top ? space_find(walk->space, top) : NULL;

	return mapping && mapping->start <= sp && sp <= top && top - sp <= nr_bytes;
}

static bool has_return_address(struct rows *rows, const struct row_query *query, uint64_t sp,
			       uint64_t top)
{
	uint64_t word;

	for (uint64_t at = sp; at < top && at < sp + 8 * WORDS_ABOVE; at += sizeof(word)) {
		if (walk_read(query->walk, at, &word) && word &&
		    rows_is_behind_call(rows, query, word & query->arch->code_mask))
			return true;
	}
	return false;
}

/* The mapping of the stack that the thread began on; NULL if unknown. */
static const struct mapping *own_stack(const struct walk *walk)
{
	const struct snapshot *snapshot = walk->snapshot;
	uint64_t top =
		snapshot->tid == snapshot->tgid ? snapshot->first_sp : snapshot->thread_pointer;

	return top ? space_find(walk->space, top) : NULL;
}

enum stack_end root_at(struct rows *rows, const struct row_query *query, uint64_t sp)
{
	const struct walk *walk = query->walk;
	const struct snapshot *snapshot = walk->snapshot;
	const struct mapping *own = own_stack(walk);

	if (!space_find(walk->space, sp))
		walk->out->left_map = true; /* the stack of a new thread: the map is old */
	if (is_below(walk, sp, snapshot->first_sp, FIRST_FRAME_BYTES) &&
	    !has_return_address(rows, query, sp, snapshot->first_sp))
		return STACK_END_ROOT;
	if (is_below(walk, sp, snapshot->thread_pointer, THREAD_DATA_BYTES) &&
	    !has_return_address(rows, query, sp, snapshot->thread_pointer))
		return STACK_END_ROOT;
	if (own && (sp < own->start || sp >= own->end))
		return STACK_END_OTHER_STACK;
	return STACK_END_UNPROVED;
}

bool root_is_above(const struct walk *walk, uint64_t address)
{
	return address && address == walk->snapshot->first_sp;
}

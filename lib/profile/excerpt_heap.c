// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory of an excerpt: blocks of its time, and those from before that were alive in it. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "profile/excerpt_priv.h"
#include "profile/owners.h"
#include "profile/profile.h"

static bool is_new(const struct making *making, size_t row)
{
	return making->what->keeps_all && row >= making->what->first_allocation;
}

static bool was_alive(const struct making *making, const struct profile_allocation *row)
{
	const struct profile *from = making->from;
	const struct profile_process *process =
		&from->processes[from->threads[row->thread.v].process];
	uint64_t from_ns = making->what->from_ns;

	return !(row->freed_ns && row->freed_ns <= from_ns) &&
	       !(process->end_ns && process->end_ns <= from_ns);
}

void excerpt_use_heap(struct making *making)
{
	const struct profile_heap *heap = &making->from->heap;

	for (size_t i = 0; i < heap->nr_allocations; i++) {
		const struct profile_allocation *row = &heap->allocations[i];

		if (!is_new(making, i) && !was_alive(making, row))
			continue;
		excerpt_use(making, RECORD_THREADS, row->thread.v);
		excerpt_use(making, RECORD_STACKS, row->stack.v);
		excerpt_use(making, RECORD_STACKS, row->freed_stack.v);
		if (row->freed_by.v != THREAD_NONE.v)
			excerpt_use(making, RECORD_THREADS, row->freed_by.v);
	}
}

/*
 * Exact totals are read once a second: those of a process in the excerpt, and the blocks that they
 * are of, begin with its first moment there.
 */
struct heap_bases {
	uint64_t known_ns; /* from then on all blocks are known */
	/* By process; owned. NULL: it has no moment from then on. */
	const struct profile_heap_moment **moments;
	uint32_t *owners;
};

static void bases_init(struct heap_bases *bases, const struct making *making)
{
	const struct profile *from = making->from;
	const struct profile_heap *heap = &from->heap;
	bool *has_own = xcalloc(from->nr_processes + 1, sizeof(*has_own));

	bool is_short = heap->forgotten_ns > making->what->from_ns;

	bases->known_ns = max_u64(making->what->from_ns, heap->forgotten_ns);
	bases->moments = xcalloc(from->nr_processes + 1, sizeof(*bases->moments));
	for (size_t i = heap->nr_moments; i-- > 0;) {
		const struct profile_heap_moment *moment = &heap->moments[i];
		const struct profile_heap_moment **base = &bases->moments[moment->process];

		/* Where little room was left, a last moment alone would leave no time at all. */
		if (moment->time_ns >= bases->known_ns && (has_own[moment->process] || !is_short))
			*base = moment;
		has_own[moment->process] = true;
	}
	bases->owners = profile_find_owners(from, has_own);
	free(has_own);
}

static void bases_release(struct heap_bases *bases)
{
	free(bases->moments);
	free(bases->owners);
}

/* All that it has allocated belongs to the excerpt. */
static bool begins_inside(const struct making *making, const struct heap_bases *bases,
			  uint32_t process)
{
	return making->from->processes[process].start_ns >= bases->known_ns;
}

static bool is_earlier(const struct making *making, const struct heap_bases *bases,
		       const struct profile_allocation *row)
{
	uint32_t owner = bases->owners[making->from->threads[row->thread.v].process];

	if (owner == PROCESS_NONE)
		return row->time_ns < bases->known_ns;
	if (begins_inside(making, bases, owner))
		return false;
	if (!bases->moments[owner])
		return row->time_ns < bases->known_ns;
	return row->time_ns <= bases->moments[owner]->time_ns;
}

static void take_allocations(struct making *making, const struct heap_bases *bases)
{
	const struct profile_heap *heap = &making->from->heap;
	uint32_t *rows = xcalloc(heap->nr_allocations + 1, sizeof(*rows));

	for (size_t i = 0; i < heap->nr_allocations; i++) {
		struct profile_allocation row = heap->allocations[i];

		rows[i] = EXCERPT_UNUSED;
		if (!is_new(making, i) && !was_alive(making, &row))
			continue;
		row.is_earlier = making->what->keeps_all ? !is_new(making, i)
							 : is_earlier(making, bases, &row);
		row.time_ns = max_u64(row.time_ns, making->what->from_ns);
		if (row.former && row.former != FORMER_UNKNOWN)
			row.former = rows[row.former - 1] == EXCERPT_UNUSED
					     ? FORMER_UNKNOWN
					     : rows[row.former - 1] + 1;
		row.search = ALLOCATION_NOT_SEARCHED;
		renumber(&making->map, RECORD_ALLOCATIONS, &row);
		rows[i] = profile_add_allocation(making->into, &row);
	}
	free(rows);
}

static uint64_t since(uint64_t now, uint64_t then)
{
	return now - min_u64(now, then);
}

/* Without a base, or before it, the totals are not known: 0. */
static void take_moments(struct making *making, const struct heap_bases *bases)
{
	static const struct profile_heap_moment nothing = {0},
						everything = {
							.allocated_bytes = UINT64_MAX,
							.nr_allocations = UINT64_MAX,
							.nr_dropped = UINT64_MAX,
							.nr_frees_dropped = UINT64_MAX,
						};
	const struct profile_heap *heap = &making->from->heap;

	for (size_t i = 0; i < heap->nr_moments; i++) {
		struct profile_heap_moment row = heap->moments[i];
		const struct profile_heap_moment *base = bases->moments[row.process];

		if (row.time_ns < making->what->from_ns ||
		    !excerpt_has(making, RECORD_PROCESSES, row.process))
			continue;
		if (begins_inside(making, bases, row.process))
			base = &nothing;
		else if (!base)
			base = &everything;
		row.allocated_bytes = since(row.allocated_bytes, base->allocated_bytes);
		row.nr_allocations = since(row.nr_allocations, base->nr_allocations);
		row.nr_dropped = since(row.nr_dropped, base->nr_dropped);
		row.nr_frees_dropped = since(row.nr_frees_dropped, base->nr_frees_dropped);
		renumber(&making->map, RECORD_MOMENTS, &row);
		profile_add_heap_moment(making->into, &row);
	}
}

void excerpt_take_heap(struct making *making)
{
	uint64_t forgotten_ns = making->from->heap.forgotten_ns;
	struct heap_bases bases;

	bases_init(&bases, making);
	take_allocations(making, &bases);
	if (!making->what->keeps_all)
		take_moments(making, &bases);
	bases_release(&bases);
	if (profile_has_heap(making->into) && forgotten_ns > making->what->from_ns)
		profile_set_counter(making->into, "memory_missing_ns",
				    forgotten_ns - making->what->from_ns);
}

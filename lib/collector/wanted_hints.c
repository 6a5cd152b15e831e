// SPDX-License-Identifier: GPL-2.0-or-later
/* Hands ranges of memory from the collector to those that copy them, without a lock. */
#include "collector/wanted_hints.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "collector/message.h"
#include "snapshot/wanted.h"
#include "wait/wait.h"

/*
 * A thread comes back to functions that it has just left. Each range more makes a stop longer, but
 * by less than another system call does.
 */
#define FORMER_WALKS  6
#define FORMER_RANGES 160
/*
 * What may be copied after the stop makes that no longer: so it is wanted for longer, as many
 * statements are met only now and then, but no more of it than can be copied at once.
 */
#define FORMER_LATE_WALKS 512
#define FORMER_LATE_MAX	  96

/* What a walk wanted, and the last one that did, by its number; 0: unused. */
struct former_range {
	uint64_t start;
	uint32_t nr_bytes, walk;
	bool is_late; /* as of the last walk with it */
};

struct wanted_hints {
	struct former_range former[FORMER_RANGES]; /* the collector's own */
	uint32_t nr_walks;			   /* so far */
	struct wanted_more more;		   /* but for its subject; as of the first call */
	_Atomic uint64_t subject;
	_Atomic uint32_t nr;
	struct {
		_Atomic uint64_t start;
		_Atomic uint32_t nr_bytes;
		_Atomic bool is_late;
	} at[SNAPSHOT_WANTED_MAX];
};

#define CONTEXT_PLACES_MAX 8

struct process_hints {
	_Atomic uint32_t nr_users;
	/* Constant up to the number; the last one is valid. */
	struct context_place contexts[CONTEXT_PLACES_MAX];
	_Atomic uint32_t nr_contexts;
	_Atomic bool is_set;
	struct wanted_more more; /* constant from then on */
	_Atomic bool has_lock;
	struct wait_lock lock; /* likewise */
};

struct process_hints *process_hints_new(const struct process_hints *former)
{
	struct process_hints *hints = xcalloc(1, sizeof(*hints));

	atomic_init(&hints->nr_users, 1);
	if (former && atomic_load_explicit(&former->is_set, memory_order_acquire)) {
		hints->more = former->more;
		atomic_init(&hints->is_set, true);
	}
	if (former && process_hints_get_lock(former, &hints->lock))
		atomic_init(&hints->has_lock, true);
	return hints;
}

void process_hints_free(struct process_hints *hints)
{
	if (hints && atomic_fetch_sub(&hints->nr_users, 1) == 1)
		free(hints);
}

void process_hints_set(struct process_hints *hints, const struct wanted_more *more)
{
	if (!hints || atomic_load_explicit(&hints->is_set, memory_order_relaxed))
		return;
	hints->more = *more;
	atomic_store_explicit(&hints->is_set, true, memory_order_release);
}

void process_hints_set_context(struct process_hints *hints, const struct context_place *place)
{
	uint32_t nr = hints ? atomic_load_explicit(&hints->nr_contexts, memory_order_relaxed)
			    : CONTEXT_PLACES_MAX;

	if (nr == CONTEXT_PLACES_MAX)
		return;
	hints->contexts[nr] = *place;
	atomic_store_explicit(&hints->nr_contexts, nr + 1, memory_order_release);
}

/* False: it has none. */
static bool get_context(const struct process_hints *hints, struct context_place *place)
{
	uint32_t nr = hints ? atomic_load_explicit(&hints->nr_contexts, memory_order_acquire) : 0;

	*place = nr ? hints->contexts[nr - 1]
		    : (struct context_place){.access = CONTEXT_ACCESS_NONE};
	return nr;
}

void process_hints_set_lock(struct process_hints *hints, const struct wait_lock *lock)
{
	if (!hints || atomic_load_explicit(&hints->has_lock, memory_order_relaxed))
		return;
	hints->lock = *lock;
	atomic_store_explicit(&hints->has_lock, true, memory_order_release);
}

bool process_hints_get_lock(const struct process_hints *hints, struct wait_lock *lock)
{
	if (!hints || !atomic_load_explicit(&hints->has_lock, memory_order_acquire))
		return false;
	*lock = hints->lock;
	return true;
}

struct thread_hints *thread_hints_new(struct process_hints *process)
{
	struct thread_hints *hints = xcalloc(1, sizeof(*hints));

	if (process)
		atomic_fetch_add(&process->nr_users, 1);
	hints->of_process = process;
	return hints;
}

void thread_hints_free(struct thread_hints *hints)
{
	if (!hints)
		return;
	process_hints_free(hints->of_process);
	free(hints->wanted);
	free(hints);
}

static void note_former(struct wanted_hints *kept, const struct wanted_range *range)
{
	struct former_range *oldest = &kept->former[0];

	for (size_t i = 0; i < FORMER_RANGES; i++) {
		struct former_range *former = &kept->former[i];

		if (former->start == range->start) {
			oldest = former;
			break;
		}
		if (former->walk < oldest->walk)
			oldest = former;
	}
	*oldest = (struct former_range){
		.start = range->start, .nr_bytes = range->nr_bytes, .walk = kept->nr_walks};
}

static bool is_recent(const struct wanted_hints *kept, const struct former_range *range,
		      uint32_t nr_walks)
{
	return range->walk && kept->nr_walks - range->walk < nr_walks;
}

void wanted_hints_recall(struct thread_hints *hints, struct wanted_memory *wanted)
{
	struct wanted_hints *kept = hints->wanted;
	struct wanted_memory now = *wanted, former = {.nr = 0};
	size_t nr_late = 0;

	if (!kept)
		return;
	for (size_t i = 0; i < FORMER_RANGES && former.nr < SNAPSHOT_WANTED_MAX; i++) {
		const struct former_range *range = &kept->former[i];
		bool is_late = range->is_late && nr_late < FORMER_LATE_MAX;

		if (!is_recent(kept, range, is_late ? FORMER_LATE_WALKS : FORMER_WALKS))
			continue;
		former.at[former.nr++] =
			(struct wanted_range){.start = range->start, .nr_bytes = range->nr_bytes};
		nr_late += range->is_late;
	}
	wanted_memory_unite(wanted, &former);
	kept->nr_walks++;
	for (size_t i = 0; i < now.nr; i++)
		note_former(kept, &now.at[i]);
}

/* NULL: no range begins there. They are in order. */
static const struct wanted_range *range_from(const struct wanted_memory *wanted, uint64_t start)
{
	size_t low = 0, high = wanted->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (wanted->at[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < wanted->nr && wanted->at[low].start == start ? &wanted->at[low] : NULL;
}

static void note_late(struct wanted_hints *kept, const struct wanted_memory *wanted)
{
	for (size_t i = 0; i < FORMER_RANGES && wanted->nr; i++) {
		struct former_range *former = &kept->former[i];
		const struct wanted_range *range = range_from(wanted, former->start);

		if (range)
			former->is_late = range->is_late;
	}
}

void wanted_hints_set(struct thread_hints *hints, const struct wanted_memory *wanted,
		      const struct wanted_more *more)
{
	struct wanted_hints *kept = hints->wanted;

	if (!kept) {
		kept = xcalloc(1, sizeof(*kept));
		kept->more = *more;
	}
	note_late(kept, wanted);
	atomic_store_explicit(&kept->subject, more->subject, memory_order_relaxed);
	for (size_t i = 0; i < wanted->nr; i++) {
		atomic_store_explicit(&kept->at[i].start, wanted->at[i].start,
				      memory_order_relaxed);
		atomic_store_explicit(&kept->at[i].nr_bytes, wanted->at[i].nr_bytes,
				      memory_order_relaxed);
		atomic_store_explicit(&kept->at[i].is_late, wanted->at[i].is_late,
				      memory_order_relaxed);
	}
	atomic_store_explicit(&kept->nr, (uint32_t)wanted->nr, memory_order_release);
	atomic_store_explicit(&hints->wanted, kept, memory_order_release);
}

static bool get_first(const struct process_hints *hints, struct wanted_more *more)
{
	if (!hints || !atomic_load_explicit(&hints->is_set, memory_order_acquire))
		return false;
	*more = hints->more;
	return true;
}

bool wanted_hints_get(const struct thread_hints *hints, struct wanted_memory *wanted,
		      struct wanted_more *more)
{
	struct wanted_hints *kept = atomic_load_explicit(&hints->wanted, memory_order_acquire);
	uint32_t nr;

	*wanted = (struct wanted_memory){.nr = 0};
	if (!kept) {
		if (!get_first(hints->of_process, more)) {
			more->find = NULL;
			more->subject = 0;
		}
		return get_context(hints->of_process, &more->context) || more->find;
	}
	*more = kept->more;
	get_context(hints->of_process, &more->context);
	more->subject = atomic_load_explicit(&kept->subject, memory_order_relaxed);
	nr = atomic_load_explicit(&kept->nr, memory_order_acquire);
	for (uint32_t i = 0; i < nr; i++) {
		struct wanted_range *range = &wanted->at[wanted->nr];

		range->start = atomic_load_explicit(&kept->at[i].start, memory_order_relaxed);
		range->nr_bytes = atomic_load_explicit(&kept->at[i].nr_bytes, memory_order_relaxed);
		range->is_late = atomic_load_explicit(&kept->at[i].is_late, memory_order_relaxed);
		if (range->nr_bytes > WANTED_BYTES_MAX - wanted->nr_bytes)
			continue;
		wanted->nr_bytes += range->nr_bytes;
		wanted->nr++;
	}
	return true;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "patch/branches.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "patch/patch.h"

/* Bytes after a start that a probe may overwrite, or leave alone in front of its window. */
#define NEAR_BYTES (PATCH_SLED_MAX_BYTES + PATCH_MAX_BYTES + 4)

/* Calls often lead to the same functions: so many are known without a search. */
#define NR_CALLED 4096

struct branch {
	uint64_t target, source;
	bool is_call;
};

struct branches {
	uint64_t *starts; /* owned: sorted, each once */
	size_t nr_starts;
	uint64_t *places; /* owned: likewise; NULL: the starts */
	size_t nr_places;
	struct branch *at; /* by target, then source */
	size_t nr, cap;
	bool is_sorted;
	bool are_starts;	    /* each place is a start */
	uint64_t called[NR_CALLED]; /* starts that calls lead to, by their hash; 0: none */
	branches_jump *tell;	    /* or NULL */
	void *context;
};

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_starts(const void *a, const void *b)
{
	return compare(*(const uint64_t *)a, *(const uint64_t *)b);
}

static int compare_branches(const void *a, const void *b)
{
	const struct branch *left = a, *right = b;
	int order = compare(left->target, right->target);

	return order ? order : compare(left->source, right->source);
}

/* A sorted copy without repetitions. The caller frees it. */
static uint64_t *sorted_copy(const uint64_t *addresses, size_t *nr)
{
	uint64_t *sorted = xcalloc(*nr + 1, sizeof(*sorted));
	size_t nr_kept = 0;

	if (*nr)
		memcpy(sorted, addresses, *nr * sizeof(*sorted));
	qsort(sorted, *nr, sizeof(*sorted), compare_starts);
	for (size_t i = 0; i < *nr; i++) {
		if (!nr_kept || sorted[i] != sorted[nr_kept - 1])
			sorted[nr_kept++] = sorted[i];
	}
	*nr = nr_kept;
	return sorted;
}

struct branches *branches_new(const uint64_t *starts, size_t nr_starts)
{
	struct branches *branches = xcalloc(1, sizeof(*branches));

	branches->nr_starts = nr_starts;
	branches->starts = sorted_copy(starts, &branches->nr_starts);
	return branches;
}

/* Is each of the first addresses among the others? Both are sorted. */
static bool are_among(const uint64_t *some, size_t nr_some, const uint64_t *all, size_t nr_all)
{
	size_t at = 0;

	for (size_t i = 0; i < nr_some; i++) {
		while (at < nr_all && all[at] < some[i])
			at++;
		if (at == nr_all || all[at] != some[i])
			return false;
	}
	return true;
}

void branches_ask_about(struct branches *branches, const uint64_t *places, size_t nr_places)
{
	assert(!branches->places && !branches->nr);
	branches->nr_places = nr_places;
	branches->places = sorted_copy(places, &branches->nr_places);
	branches->are_starts = are_among(branches->places, branches->nr_places, branches->starts,
					 branches->nr_starts);
}

void branches_tell_jumps(struct branches *branches, branches_jump *tell, void *context)
{
	branches->tell = tell;
	branches->context = context;
}

branches_jump *branches_teller(const struct branches *branches, void **context)
{
	*context = branches->context;
	return branches->tell;
}

void branches_free(struct branches *branches)
{
	if (!branches)
		return;
	free(branches->starts);
	free(branches->places);
	free(branches->at);
	free(branches);
}

/* The number of sorted addresses up to this one. */
static size_t nr_up_to(const uint64_t *addresses, size_t nr, uint64_t address)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (addresses[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool branches_ignore(const struct branches *branches, uint64_t start, uint64_t next_start,
		     uint64_t target)
{
	return branches->are_starts && target >= start + NEAR_BYTES && target < next_start;
}

uint64_t branches_last_start(const struct branches *branches, uint64_t address)
{
	size_t nr = nr_up_to(branches->starts, branches->nr_starts, address);

	return nr ? branches->starts[nr - 1] : 0;
}

static bool is_start(struct branches *branches, uint64_t target)
{
	uint64_t *known = &branches->called[target / 16 % NR_CALLED];

	if (target && *known == target)
		return true;
	if (branches_last_start(branches, target) != target)
		return false;
	*known = target;
	return true;
}

bool branches_keep(struct branches *branches, uint64_t target, bool is_call)
{
	const uint64_t *places = branches->places ? branches->places : branches->starts;
	size_t nr = branches->places ? branches->nr_places : branches->nr_starts;

	if (!nr || target - places[0] >= places[nr - 1] + NEAR_BYTES - places[0])
		return false;
	/* Nearly all calls lead to starts, which are targets in any case. */
	if (is_call && is_start(branches, target))
		return false;
	nr = nr_up_to(places, nr, target);
	return nr && target - places[nr - 1] < NEAR_BYTES;
}

void branches_add(struct branches *branches, uint64_t source, uint64_t target, bool is_call)
{
	if (!branches_keep(branches, target, is_call))
		return;
	ARRAY_GROW(branches->at, branches->nr, branches->cap);
	branches->at[branches->nr++] =
		(struct branch){.target = target, .source = source, .is_call = is_call};
	branches->is_sorted = false;
}

void branches_sort(struct branches *branches)
{
	if (branches->nr)
		qsort(branches->at, branches->nr, sizeof(*branches->at), compare_branches);
	branches->is_sorted = true;
}

/* The index of the first branch that leads to the address, or to one after it. */
static size_t first_to(const struct branches *branches, uint64_t target)
{
	size_t low = 0, high = branches->nr;

	assert(branches->is_sorted);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (branches->at[middle].target < target)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool branches_lead_into(const struct branches *branches, uint64_t from, uint64_t to)
{
	size_t first = first_to(branches, from + 1);

	return (first < branches->nr && branches->at[first].target < to) ||
	       branches_next_start(branches, from) < to;
}

bool branches_loop_to(const struct branches *branches, uint64_t target, uint64_t start,
		      uint64_t end)
{
	for (size_t i = first_to(branches, target);
	     i < branches->nr && branches->at[i].target == target; i++) {
		const struct branch *branch = &branches->at[i];

		if (!branch->is_call && branch->source >= start && branch->source < end)
			return true;
	}
	return false;
}

uint64_t branches_next_start(const struct branches *branches, uint64_t address)
{
	size_t nr = nr_up_to(branches->starts, branches->nr_starts, address);

	return nr < branches->nr_starts ? branches->starts[nr] : UINT64_MAX;
}

const uint64_t *branches_places(const struct branches *branches, size_t *nr)
{
	*nr = branches->nr_places;
	return branches->places;
}

const size_t branches_near_bytes = NEAR_BYTES;

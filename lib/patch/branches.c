// SPDX-License-Identifier: GPL-2.0-or-later
#include "patch/branches.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "patch/patch.h"

/* Bytes after a start that a probe may overwrite, or leave alone in front of its window. */
#define NEAR_BYTES (PATCH_SLED_MAX_BYTES + PATCH_MAX_BYTES + 4)

struct branch {
	uint64_t target, source;
	bool is_call;
};

struct branches {
	uint64_t *starts; /* sorted, each once */
	size_t nr_starts;
	struct branch *at; /* by target, then source */
	size_t nr, cap;
	bool is_sorted;
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

struct branches *branches_new(const uint64_t *starts, size_t nr_starts)
{
	struct branches *branches = xcalloc(1, sizeof(*branches));
	size_t nr = 0;

	branches->starts = xcalloc(nr_starts + 1, sizeof(*starts));
	if (nr_starts)
		memcpy(branches->starts, starts, nr_starts * sizeof(*starts));
	qsort(branches->starts, nr_starts, sizeof(*starts), compare_starts);
	for (size_t i = 0; i < nr_starts; i++) {
		if (!nr || branches->starts[i] != branches->starts[nr - 1])
			branches->starts[nr++] = branches->starts[i];
	}
	branches->nr_starts = nr;
	return branches;
}

void branches_free(struct branches *branches)
{
	if (!branches)
		return;
	free(branches->starts);
	free(branches->at);
	free(branches);
}

/* The number of starts at or before the address. */
static size_t nr_starts_up_to(const struct branches *branches, uint64_t address)
{
	size_t low = 0, high = branches->nr_starts;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (branches->starts[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void branches_add(struct branches *branches, uint64_t source, uint64_t target, bool is_call)
{
	size_t nr = nr_starts_up_to(branches, target);

	if (!nr || target - branches->starts[nr - 1] >= NEAR_BYTES)
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
	size_t nr = nr_starts_up_to(branches, address);

	return nr < branches->nr_starts ? branches->starts[nr] : UINT64_MAX;
}

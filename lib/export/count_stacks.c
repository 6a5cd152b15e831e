// SPDX-License-Identifier: GPL-2.0-or-later
/* Exact counts as stacks of two frames. */
#include "export/count_stacks_priv.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "calltree/counts.h"
#include "export/extract_priv.h"

/* Calls of a function by counted call instructions of its process. */
struct callee_sum {
	uint32_t process;
	struct frame_id callee;
	uint64_t calls;
};

struct callee_sums {
	struct callee_sum *sums; /* by process and callee */
	size_t nr, cap;
};

static int by_callee(const void *left, const void *right)
{
	const struct callee_sum *a = left;
	const struct callee_sum *b = right;

	if (a->process != b->process)
		return a->process > b->process ? 1 : -1;
	return (a->callee.v > b->callee.v) - (a->callee.v < b->callee.v);
}

static struct callee_sums sum_callees(const struct extract *extract)
{
	const struct profile_probes *probes = &extract->profile->probes;
	struct callee_sums sums = {0};
	size_t nr = 0;

	for (size_t i = 0; i < probes->nr_counts; i++) {
		const struct profile_count *row = &probes->counts[i];

		if (row->kind != COUNT_CALL || row->callee.v == COUNT_NO_CALLEE.v ||
		    !counts_have(extract->counts, row))
			continue;
		ARRAY_GROW(sums.sums, sums.nr, sums.cap);
		sums.sums[sums.nr++] = (struct callee_sum){row->process, row->callee, row->calls};
	}
	if (sums.nr)
		qsort(sums.sums, sums.nr, sizeof(*sums.sums), by_callee);
	for (size_t i = 0; i < sums.nr; i++) {
		if (nr && by_callee(&sums.sums[nr - 1], &sums.sums[i]) == 0)
			sums.sums[nr - 1].calls += sums.sums[i].calls;
		else
			sums.sums[nr++] = sums.sums[i];
	}
	sums.nr = nr;
	return sums;
}

/* Calls counted at the entry, without those from known callers. */
static uint64_t without_known_callers(struct callee_sums *sums, const struct profile_count *entry)
{
	const struct callee_sum wanted = {.process = entry->process, .callee = entry->where};
	struct callee_sum *found = NULL;
	uint64_t known;

	if (sums->nr)
		found = bsearch(&wanted, sums->sums, sums->nr, sizeof(wanted), by_callee);
	if (!found)
		return entry->calls;
	known = min_u64(found->calls, entry->calls);
	found->calls -= known;
	return entry->calls - known;
}

static struct count_stack stack_of(struct callee_sums *sums, const struct profile_count *row)
{
	if (row->kind == COUNT_CALL)
		return (struct count_stack){.process = row->process,
					    .callee = row->callee,
					    .caller = row->where,
					    .calls = row->calls};
	return (struct count_stack){.process = row->process,
				    .callee = row->where,
				    .caller = COUNT_NO_CALLER,
				    .calls = without_known_callers(sums, row)};
}

void count_stacks_init(struct count_stacks *stacks, const struct extract *extract)
{
	const struct profile_probes *probes = &extract->profile->probes;
	struct callee_sums sums = sum_callees(extract);

	*stacks = (struct count_stacks){0};
	for (size_t i = 0; i < probes->nr_counts; i++) {
		struct count_stack stack;

		if (!counts_have(extract->counts, &probes->counts[i]))
			continue;
		stack = stack_of(&sums, &probes->counts[i]);
		if (!stack.calls)
			continue;
		ARRAY_GROW(stacks->stacks, stacks->nr, stacks->cap);
		stacks->stacks[stacks->nr++] = stack;
	}
	free(sums.sums);
}

void count_stacks_release(struct count_stacks *stacks)
{
	free(stacks->stacks);
	*stacks = (struct count_stacks){0};
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Adds up the leaks of each owner. */
#include "calltree/leak_shares.h"

#include <stdlib.h>

#include "base/alloc.h"

static int by_owner(const void *left, const void *right)
{
	const struct leak_owner *a = &((const struct leak_share *)left)->owner;
	const struct leak_owner *b = &((const struct leak_share *)right)->owner;

	if (a->process != b->process)
		return a->process > b->process ? 1 : -1;
	return (a->thread.v > b->thread.v) - (a->thread.v < b->thread.v);
}

static int heavier_first(const void *left, const void *right)
{
	const struct leak_share *a = left;
	const struct leak_share *b = right;

	if (a->tally.weight != b->tally.weight)
		return a->tally.weight < b->tally.weight ? 1 : -1;
	return by_owner(left, right);
}

/* Join the shares of each owner, which are adjacent. */
static size_t join(struct leak_share *shares, size_t nr)
{
	size_t last = 0;

	for (size_t i = 1; i < nr; i++) {
		if (by_owner(&shares[last], &shares[i]) != 0) {
			shares[++last] = shares[i];
			continue;
		}
		tally_add(&shares[last].tally, &shares[i].tally);
		shares[last].nr_stacks++;
	}
	return last + 1;
}

struct leak_share *leak_shares_new(const struct leaks *leaks, size_t *nr)
{
	struct leak_share *shares = xcalloc(leaks->nr, sizeof(*shares));

	for (size_t i = 0; i < leaks->nr; i++)
		shares[i] = (struct leak_share){leaks->rows[i].owner, leaks->rows[i].tally, 1};
	*nr = leaks->nr;
	if (!leaks->nr)
		return shares;
	qsort(shares, *nr, sizeof(*shares), by_owner);
	*nr = join(shares, *nr);
	qsort(shares, *nr, sizeof(*shares), heavier_first);
	return shares;
}

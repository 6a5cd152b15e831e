// SPDX-License-Identifier: GPL-2.0-or-later
/* Which code the advances of counters are attributed to. */
#include "profile/charge_advances.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "profile/profile.h"

#define NO_COMMON (-1)

/*
 * Which of two frames, 0 or 1, stands in functions that the other is in as well: in the same ones,
 * or in all but the innermost that are inlined there. NO_COMMON: neither.
 */
static int common_frame(const struct profile *profile, struct frame_id a, struct frame_id b)
{
	const struct profile_symbols *symbols = &profile->symbols;
	struct frame_symbols first, second;
	uint32_t nr;

	if (a.v == b.v)
		return 1;
	if (a.v >= symbols->nr_frames || b.v >= symbols->nr_frames ||
	    profile->frames[a.v].where.module.v != profile->frames[b.v].where.module.v)
		return NO_COMMON;
	first = symbols->frames[a.v];
	second = symbols->frames[b.v];
	nr = (uint32_t)min_u64(first.nr, second.nr);
	if (!nr)
		return NO_COMMON;
	/* The outermost is the last of a chain. */
	for (uint32_t i = 1; i <= nr; i++)
		if (symbols->locations[first.first + first.nr - i].function.v !=
		    symbols->locations[second.first + second.nr - i].function.v)
			return NO_COMMON;
	return first.nr < second.nr ? 0 : 1;
}

/* The part that two stacks have in common. */
struct common {
	struct stack_id stack; /* its leaf is the deepest common function */
	bool is_leaf_of_both;
};

static struct common common_of(const struct profile *profile, struct stack_id before,
			       struct stack_id after)
{
	const struct stack_trie *trie = profile->stacks;
	uint32_t depth_before = stack_trie_depth(trie, before);
	uint32_t depth_after = stack_trie_depth(trie, after);
	struct stack_id at[2] = {before, after}, below[2] = {STACK_EMPTY, STACK_EMPTY};

	for (; depth_before > depth_after; depth_before--) {
		below[0] = at[0];
		at[0] = stack_trie_parent(trie, at[0]);
	}
	for (; depth_after > depth_before; depth_after--) {
		below[1] = at[1];
		at[1] = stack_trie_parent(trie, at[1]);
	}
	while (at[0].v != at[1].v) {
		for (int i = 0; i < 2; i++) {
			below[i] = at[i];
			at[i] = stack_trie_parent(trie, at[i]);
		}
	}
	/* It has gone on to another place of the same function. */
	if (below[0].v != STACK_EMPTY.v && below[1].v != STACK_EMPTY.v) {
		int which = common_frame(profile, stack_trie_frame(trie, below[0]),
					 stack_trie_frame(trie, below[1]));

		if (which != NO_COMMON)
			return (struct common){.stack = below[which],
					       .is_leaf_of_both = below[0].v == before.v &&
								  below[1].v == after.v};
	}
	return (struct common){.stack = at[1],
			       .is_leaf_of_both = at[1].v == before.v && at[1].v == after.v};
}

/*
 * By function, or by frame where that has no name: how many rows have it for the leaf of their
 * later stack, and how many of these were seen to advance there.
 */
struct leaf {
	uint32_t nr, nr_seen;
};

/* Of one that works in bursts of 20 us every 2 ms a few of a hundred samples see another advance.
 */
#define SEEN_PART 10

struct charger {
	struct profile *profile;
	struct frame_id between;
	struct leaf *leaves; /* by counter, and then by leaf_of(); owned */
	size_t nr_leaves;    /* of one counter */
};

static struct leaf *leaf_of(const struct charger *charger, const struct profile_advance *row)
{
	const struct profile_symbols *symbols = &charger->profile->symbols;
	uint32_t frame = stack_trie_frame(charger->profile->stacks, row->after).v;
	size_t index = symbols->nr_functions + frame;

	if (frame < symbols->nr_frames && symbols->frames[frame].nr)
		index = symbols->locations[symbols->frames[frame].first].function.v;
	return &charger->leaves[row->counter * charger->nr_leaves + index];
}

static bool is_known(const struct profile_advance *row)
{
	return row->before.v != STACK_EMPTY.v && row->after.v != STACK_EMPTY.v;
}

static void look_at_leaves(struct charger *charger)
{
	const struct profile *profile = charger->profile;

	charger->nr_leaves = profile->symbols.nr_functions + profile->nr_frames;
	charger->leaves =
		xcalloc(charger->nr_leaves * NR_KERNEL_COUNTERS, sizeof(*charger->leaves));
	for (size_t i = 0; i < profile->advances.nr; i++) {
		const struct profile_advance *row = &profile->advances.rows[i];
		struct leaf *leaf;

		if (!is_known(row))
			continue;
		leaf = leaf_of(charger, row);
		leaf->nr++;
		leaf->nr_seen += row->is_seen;
	}
}

static bool advances_itself(const struct charger *charger, const struct profile_advance *row)
{
	const struct leaf *leaf = leaf_of(charger, row);

	return SEEN_PART * leaf->nr_seen >= leaf->nr;
}

static struct stack_id charged_stack(const struct charger *charger,
				     const struct profile_advance *row)
{
	const struct profile *profile = charger->profile;
	struct common common;

	if (!is_known(row))
		return STACK_EMPTY;
	common = common_of(profile, row->before, row->after);
	if (common.is_leaf_of_both) {
		if (advances_itself(charger, row))
			return common.stack;
		common.stack = stack_trie_parent(profile->stacks, common.stack);
	}
	if (common.stack.v == STACK_EMPTY.v)
		return STACK_EMPTY;
	return stack_trie_intern(profile->stacks, common.stack, charger->between);
}

void profile_charge_advances(struct profile *profile)
{
	struct profile_advances *advances = &profile->advances;
	struct charger charger = {.profile = profile};
	char path[] = "[between samples]";
	struct module module = {.kind = MODULE_KIND_BETWEEN, .path = path, .fd = -1};
	struct code_address where;

	if (!advances->nr)
		return;
	where = (struct code_address){.module = module_table_intern(profile->modules, &module)};
	charger.between = profile_intern_frame(profile, where);
	look_at_leaves(&charger);
	free(advances->charged);
	advances->charged = xcalloc(advances->nr, sizeof(*advances->charged));
	for (size_t i = 0; i < advances->nr; i++)
		advances->charged[i] = charged_stack(&charger, &advances->rows[i]);
	free(charger.leaves);
}

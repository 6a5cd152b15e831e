// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"
#include "base/minmax.h"
#include "target/target_priv.h"

/*
 * Of two that stop at about the same time, one SIGCHLD tells, and names one: of a parent that tells
 * of a birth and of the child that comes to its first stop, this is so every now and then. To ask
 * all takes the kernel longer the more there are, and cannot be done often. But who the other may
 * be is known: a child that was told of and has not been met, or one that made others of late.
 */
#define RECENTLY_NS NS_PER_SEC

static struct recent_parent *place_of(struct target *target, pid_t tid)
{
	struct recent_parent *oldest = &target->parents[0];

	for (size_t i = 0; i < PARENTS_MAX; i++) {
		if (target->parents[i].tid == tid)
			return &target->parents[i];
		if (target->parents[i].told_ns < oldest->told_ns)
			oldest = &target->parents[i];
	}
	return oldest;
}

static struct birth *find(struct target *target, pid_t child)
{
	for (size_t i = 0; i < target->nr_births; i++) {
		if (target->births[i].child == child)
			return &target->births[i];
	}
	return NULL;
}

/* Of too many, one is forgotten: it will be met as one that nobody has told of. */
static struct birth *room(struct target *target)
{
	if (target->nr_births < BIRTHS_MAX)
		return &target->births[target->nr_births++];
	return &target->births[target->next_birth++ % BIRTHS_MAX];
}

void target_note_birth(struct target *target, const struct tracee *parent, pid_t child,
		       bool is_forked)
{
	struct tracee *known = target_find(target, child);

	*place_of(target, parent->tid) =
		(struct recent_parent){.tid = parent->tid, .told_ns = clock_monotonic_ns()};
	if (known) {
		known->priv->parent_tid = parent->tid;
		known->priv->is_untold = false;
	} else if (child) {
		*room(target) = (struct birth){
			.child = child,
			.parent_tid = parent->tid,
			.parent_tgid = parent->tgid,
			.is_forked = is_forked,
		};
	}
}

struct birth target_take_birth(struct target *target, pid_t child)
{
	struct birth *found = find(target, child);
	struct birth birth = {.child = child};

	if (found) {
		birth = *found;
		*found = target->births[--target->nr_births];
	}
	return birth;
}

size_t target_recent_parents(const struct target *target, pid_t tids[PARENTS_MAX])
{
	uint64_t now_ns = clock_monotonic_ns();
	size_t nr = 0;

	for (size_t i = 0; i < PARENTS_MAX; i++) {
		const struct recent_parent *parent = &target->parents[i];

		if (parent->tid && now_ns - parent->told_ns < RECENTLY_NS)
			tids[nr++] = parent->tid;
	}
	return nr;
}

size_t target_unmet_children(struct target *target, pid_t tids[UNMET_MAX])
{
	size_t nr = min_u64(target->nr_births, UNMET_MAX);

	for (size_t i = 0; i < nr; i++)
		tids[i] = target->births[target->next_unmet++ % target->nr_births].child;
	return nr;
}

bool target_is_expected(struct target *target, pid_t tid)
{
	for (size_t i = 0; i < PARENTS_MAX; i++) {
		if (target->parents[i].tid == tid)
			return true;
	}
	return find(target, tid);
}

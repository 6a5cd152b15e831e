// SPDX-License-Identifier: GPL-2.0-or-later
/* Estimates where short-lived threads spent the CPU time that no sample of theirs has. */
#include "profile/short_threads_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "profile/lives_priv.h"
#include "profile/profile.h"

bool thread_is_unseen(const struct profile *profile, const struct profile_thread *thread)
{
	/* A thread may take that name, but no id of 0. */
	return thread->tid == 0 && profile->processes[thread->process].pid != 0 &&
	       strcmp(profile_str(profile, thread->name), SHORT_LIVED_NAME) == 0;
}

static void set_lives(struct lives *lives)
{
	const struct profile *profile = lives->profile;

	for (uint32_t i = 0; i < profile->nr_threads; i++) {
		const struct profile_thread *thread = &profile->threads[i];

		lives->of_thread[i] = i;
		lives->rows[i] =
			(struct life){.pool = thread->process,
				      .has_ended = thread->end_ns != 0,
				      .is_unseen = thread_is_unseen(profile, thread),
				      .stands = thread->stands_for_unseen,
				      .missed_ns = thread->was_missed ? thread->end_ns : 0};
	}
}

/*
 * A thread that runs for so long is sampled more often than a short one. Others with as few samples
 * have slept, and keep their own stacks: threads of a pool do not all do the same.
 */
#define SHORT_MEANS 16

static bool is_brief(const struct lives *lives, const struct profile_thread *thread)
{
	uint64_t lived_ns = thread->end_ns - min_u64(thread->start_ns, thread->end_ns);

	return lived_ns <= share_bound(SHORT_MEANS, lives->mean_ns);
}

/* Only where there is unseen time, some threads are too short to be found. */
static void leave_out_others(struct lives *lives)
{
	for (size_t i = 0; i < lives->nr; i++) {
		struct life *life = &lives->rows[i];
		bool has_unseen = lives_unseen_ns(lives, life->pool) != 0;

		life->is_short &= has_unseen && is_brief(lives, &lives->profile->threads[i]);
		life->stands &= has_unseen;
	}
}

/* The unseen time of each process is divided equally among the samples that stand for it. */
static void divide_unseen(struct lives *lives)
{
	cleanup_free uint64_t *nr_stand = xcalloc(lives->nr_pools + 1, sizeof(*nr_stand));
	cleanup_free uint64_t *nr_done = xcalloc(lives->nr_pools + 1, sizeof(*nr_done));

	for (size_t i = 0; i < lives->nr; i++)
		nr_stand[lives->rows[i].pool] += lives->rows[i].stands;
	for (size_t i = 0; i < lives->nr; i++) {
		struct life *life = &lives->rows[i];
		uint64_t nr = nr_stand[life->pool], *done = &nr_done[life->pool];
		uint64_t ns = min_u64(lives_unseen_ns(lives, life->pool),
				      share_bound(nr, lives->most_ns));

		if (!life->stands)
			continue;
		life->part_ns = share_of(ns, *done, *done + 1, nr);
		(*done)++;
	}
}

struct kind_key {
	uint32_t process, name, thread;
};

static int by_kind(const void *left, const void *right)
{
	const struct kind_key *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->name > b->name) - (a->name < b->name);
}

/* Threads of one name in one process. Returns the number of these groups. */
static size_t group_by_name(struct lives *lives)
{
	const struct profile *profile = lives->profile;
	cleanup_free struct kind_key *keys = xcalloc(lives->nr + 1, sizeof(*keys));
	size_t nr_groups = 0;

	for (uint32_t i = 0; i < lives->nr; i++)
		keys[i] = (struct kind_key){.process = profile->threads[i].process,
					    .name = profile->threads[i].name.v,
					    .thread = i};
	qsort(keys, lives->nr, sizeof(*keys), by_kind);
	for (size_t i = 0; i < lives->nr; i++) {
		nr_groups += i == 0 || by_kind(&keys[i - 1], &keys[i]) != 0;
		lives->rows[keys[i].thread].group = (uint32_t)nr_groups - 1;
	}
	return nr_groups;
}

static bool has_unseen_threads(const struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_threads; i++)
		if (thread_is_unseen(profile, &profile->threads[i]))
			return true;
	return false;
}

void profile_estimate_short_threads(struct profile *profile)
{
	struct lives lives;
	size_t nr_kinds;

	if (!has_unseen_threads(profile))
		return;
	lives_begin(&lives, profile, profile->nr_threads, profile->nr_processes);
	set_lives(&lives);
	lives_see(&lives);
	leave_out_others(&lives);
	nr_kinds = group_by_name(&lives);
	divide_unseen(&lives);
	lives_set_groups(&lives, nr_kinds);
	lives_share(&lives);
	lives_end(&lives);
}

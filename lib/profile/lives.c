// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples of short lives, of processes or threads, that stand for the time of all of these. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "profile/lives_priv.h"
#include "profile/profile.h"

/*
 * A life with more samples keeps the time of its own. With few, their sum is not shared evenly: the
 * time at both ends of a life goes to its first and last sample, and the one at the end is the
 * longer, since the clock is not read after the last tick. In a model of lives of 1.5 gaps between
 * ticks the second half got 24 % too much, where only lives with one sample are evened out 16 %,
 * four 1 %, eight nothing.
 */
#define FEW_SAMPLES 8
/*
 * A sample stands for at most so many times the mean: by chance one time in 400 is larger. Then
 * something else kept the ticks away.
 */
#define MOST_MEANS 6

void lives_begin(struct lives *lives, struct profile *profile, size_t nr, size_t nr_pools)
{
	*lives = (struct lives){.profile = profile, .nr = nr, .nr_pools = nr_pools};
	lives->of_thread = xcalloc(profile->nr_threads + 1, sizeof(*lives->of_thread));
	lives->rows = xcalloc(nr + 1, sizeof(*lives->rows));
	lives->pools = xcalloc(nr_pools + 1, sizeof(*lives->pools));
}

void lives_end(struct lives *lives)
{
	free(lives->shares.rows);
	free(lives->groups);
	free(lives->pools);
	free(lives->rows);
	free(lives->of_thread);
}

static struct life *life_of(const struct lives *lives, size_t sample)
{
	return &lives->rows[lives->of_thread[lives->profile->samples[sample].thread.v]];
}

static bool is_observation(const struct sample *sample)
{
	return sample->kind == SAMPLE_RUNNING && sample->nr && sample->cpu_ns;
}

static void see_samples(struct lives *lives)
{
	const struct profile *profile = lives->profile;
	uint64_t cpu_ns = 0, nr = 0;

	for (size_t i = 0; i < profile->nr_samples; i++) {
		const struct sample *sample = &profile->samples[i];
		struct life *life = life_of(lives, i);

		cpu_ns += sample->cpu_ns;
		life->cpu_ns += sample->cpu_ns;
		if (is_observation(sample)) {
			nr += sample->nr;
			life->nr += sample->nr;
			life->last = i + 1;
		}
	}
	lives->mean_ns = nr ? cpu_ns / nr : 0;
	lives->most_ns = share_bound(MOST_MEANS, lives->mean_ns);
}

static void find_unseen(struct lives *lives)
{
	struct sample *samples = lives->profile->samples;

	for (size_t i = 0; i < lives->profile->nr_samples; i++) {
		const struct life *life = life_of(lives, i);
		struct unseen_pool *pool = &lives->pools[life->pool];

		if (!life->is_unseen || !samples[i].cpu_ns)
			continue;
		/* It comes in parts. */
		if (pool->sample) {
			samples[i].cpu_ns += samples[pool->sample - 1].cpu_ns;
			samples[pool->sample - 1].cpu_ns = 0;
		}
		pool->sample = i + 1;
	}
}

void lives_see(struct lives *lives)
{
	see_samples(lives);
	for (size_t i = 0; i < lives->nr; i++) {
		struct life *life = &lives->rows[i];

		life->is_short = life->has_ended && !life->is_unseen && life->nr <= FEW_SAMPLES;
		life->stands &= life->last || life->missed_ns;
	}
	find_unseen(lives);
}

uint64_t lives_unseen_ns(const struct lives *lives, uint32_t pool)
{
	size_t sample = lives->pools[pool].sample;

	return sample ? lives->profile->samples[sample - 1].cpu_ns : 0;
}

/*
 * The only one of its kind is no example of others: what no sample of it has stays without a stack,
 * as where it ran on after a pause of the recording.
 */
static void leave_out_single_ones(struct lives *lives)
{
	for (size_t i = 0; i < lives->nr; i++) {
		struct life *life = &lives->rows[i];
		struct life_group *group = &lives->groups[life->group];

		if (!life->is_short || life->stands || group->nr_short > 1)
			continue;
		life->is_short = false;
		group->nr_short = 0;
		group->known_ns = 0;
	}
}

void lives_set_groups(struct lives *lives, size_t nr_groups)
{
	lives->nr_groups = nr_groups;
	lives->groups = xcalloc(nr_groups + 1, sizeof(*lives->groups));
	for (size_t i = 0; i < lives->nr; i++) {
		const struct life *life = &lives->rows[i];

		if (life->is_short) {
			lives->groups[life->group].nr_short++;
			lives->groups[life->group].known_ns += life->cpu_ns;
		}
	}
	leave_out_single_ones(lives);
	for (size_t i = 0; i < lives->nr; i++) {
		const struct life *life = &lives->rows[i];

		if (life->is_short)
			lives->groups[life->group].short_ns += life->part_ns;
	}
}

/* --- the time of short lives --- */

/* The number of the sample of a life that was missed. */
#define NO_SAMPLE SIZE_MAX

static void give_unseen(struct lives *lives, uint32_t pool, size_t to, uint64_t ns)
{
	struct share share = {.from = lives->pools[pool].sample - 1,
			      .to = to,
			      .to_time_ns = lives->profile->samples[to].time_ns,
			      .ns = ns};

	if (ns)
		share_list_add(&lives->shares, &share);
}

/* The part of a short life is given to all samples of short ones of its group together. */
static void give_parts(struct lives *lives)
{
	for (size_t i = 0; i < lives->nr; i++) {
		const struct life *life = &lives->rows[i];

		if (!life->is_short && life->part_ns && !life->missed_ns)
			give_unseen(lives, life->pool, life->last - 1, life->part_ns);
	}
}

/* A sample of a short life. */
struct entry {
	uint32_t group, pool;
	struct stake stake;
};

static int by_entry(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->stake.time_ns != b->stake.time_ns)
		return a->stake.time_ns < b->stake.time_ns ? -1 : 1;
	return (a->stake.sample > b->stake.sample) - (a->stake.sample < b->stake.sample);
}

struct entry_list {
	struct entry *rows; /* owned */
	size_t nr, cap;
};

static void add_entry(struct entry_list *list, const struct life *life, const struct stake *stake)
{
	ARRAY_GROW(list->rows, list->nr, list->cap);
	list->rows[list->nr++] =
		(struct entry){.group = life->group, .pool = life->pool, .stake = *stake};
}

static void add_samples(const struct lives *lives, struct entry_list *list)
{
	const struct profile *profile = lives->profile;

	for (size_t i = 0; i < profile->nr_samples; i++) {
		const struct sample *sample = &profile->samples[i];
		const struct life *life = life_of(lives, i);

		if (life->is_short && sample->cpu_ns)
			add_entry(list, life,
				  &(struct stake){.sample = i,
						  .time_ns = sample->time_ns,
						  .cpu_ns = sample->cpu_ns,
						  .nr = is_observation(sample) ? sample->nr : 0,
						  .is_attributed = sample->kind == SAMPLE_RUNNING});
	}
}

static void add_missed(const struct lives *lives, struct entry_list *list)
{
	for (size_t i = 0; i < lives->nr; i++) {
		const struct life *life = &lives->rows[i];

		if (life->is_short && life->missed_ns)
			add_entry(list, life,
				  &(struct stake){.sample = NO_SAMPLE,
						  .time_ns = life->missed_ns,
						  .nr = 1});
	}
}

static struct entry_list list_entries(const struct lives *lives)
{
	struct entry_list list = {0};

	add_samples(lives, &list);
	add_missed(lives, &list);
	if (list.nr)
		qsort(list.rows, list.nr, sizeof(*list.rows), by_entry);
	return list;
}

static void share_group(struct lives *lives, const struct entry *kind, const struct stake *stakes,
			size_t nr)
{
	uint64_t unseen_ns = lives->groups[kind->group].short_ns, nr_all = 0, done = 0;

	for (size_t i = 0; i < nr; i++)
		nr_all += stakes[i].nr;
	share_out(stakes, nr, lives->most_ns, &lives->shares);
	for (size_t i = 0; i < nr && unseen_ns; i++) {
		uint64_t ns = share_of(unseen_ns, done, done + stakes[i].nr, nr_all);

		if (stakes[i].sample != NO_SAMPLE)
			give_unseen(lives, kind->pool, stakes[i].sample, ns);
		done += stakes[i].nr;
	}
}

/* Time that has no stack, and is to have none. */
static void drop_shares_of_none(struct lives *lives)
{
	const struct sample *samples = lives->profile->samples;
	struct share_list *shares = &lives->shares;
	size_t nr = 0;

	for (size_t i = 0; i < shares->nr; i++) {
		const struct share *share = &shares->rows[i];

		if (share->to != NO_SAMPLE || samples[share->from].kind != SAMPLE_UNATTRIBUTED)
			shares->rows[nr++] = *share;
	}
	shares->nr = nr;
}

static void share_groups(struct lives *lives)
{
	struct entry_list list = list_entries(lives);
	cleanup_free struct entry *entries = list.rows;
	cleanup_free struct stake *stakes = xcalloc(list.nr + 1, sizeof(*stakes));
	size_t nr = 0;

	for (size_t i = 0; i < list.nr; i++) {
		stakes[nr++] = entries[i].stake;
		if (i + 1 < list.nr && entries[i + 1].group == entries[i].group)
			continue;
		share_group(lives, &entries[i], stakes, nr);
		nr = 0;
	}
	drop_shares_of_none(lives);
}

/* --- the new samples --- */

static int by_source(const void *left, const void *right)
{
	const struct share *a = left, *b = right;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to_time_ns != b->to_time_ns)
		return a->to_time_ns < b->to_time_ns ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/*
 * How much each sample stands for, wherever it is. Its own time is what it keeps of it, and more
 * may be in other threads.
 */
static void set_stands(struct lives *lives)
{
	struct sample *samples = lives->profile->samples;

	for (size_t i = 0; i < lives->shares.nr; i++) {
		const struct share *share = &lives->shares.rows[i];

		if (share->to == NO_SAMPLE)
			continue;
		if (!samples[share->to].stands_ns)
			samples[share->to].stands_ns = samples[share->to].cpu_ns;
		samples[share->to].stands_ns += share->ns;
	}
	for (size_t i = 0; i < lives->shares.nr; i++) {
		struct sample *from = &samples[lives->shares.rows[i].from];

		from->stands_ns -= min_u64(from->stands_ns, lives->shares.rows[i].ns);
		from->cpu_ns -= lives->shares.rows[i].ns;
		from->recorded_cpu_ns -= min_u64(from->recorded_cpu_ns, lives->shares.rows[i].ns);
	}
}

/* The stack of one sample, with time of another, which covers the time since begin_ns. */
struct cut {
	uint64_t begin_ns, end_ns;
	uint64_t done_ns, cpu_ns;
};

/* Unseen time is at the moment of the sample that stands for it. */
static void place_unseen(const struct lives *lives, const struct share *share,
			 struct sample *sample)
{
	const struct life_group *group = &lives->groups[life_of(lives, share->to)->group];

	sample->time_ns = share->to_time_ns;
	if (group->has_thread)
		sample->thread = group->thread;
}

static struct sample make_sample(const struct lives *lives, const struct share *share,
				 struct cut *cut)
{
	const struct sample *from = &lives->profile->samples[share->from];
	struct sample sample = {.thread = from->thread,
				.cpu_ns = share->ns,
				.stack = STACK_EMPTY,
				.syscall_nr = -1,
				.kind = SAMPLE_UNATTRIBUTED,
				.recorded_cpu_ns = share->ns};

	if (share->to != NO_SAMPLE) {
		const struct sample *to = &lives->profile->samples[share->to];

		sample.stack = to->stack;
		sample.syscall_nr = to->syscall_nr;
		sample.kind = SAMPLE_RUNNING;
		sample.end = to->end;
		sample.stands_ns = to->stands_ns / to->nr;
	}
	cut->done_ns += share->ns;
	sample.time_ns =
		cut->begin_ns + share_of(cut->end_ns - cut->begin_ns, 0, cut->done_ns, cut->cpu_ns);
	if (life_of(lives, share->from)->is_unseen)
		place_unseen(lives, share, &sample);
	return sample;
}

/* Make the samples of the given shares, which are of one sample. Returns their number. */
static size_t make_samples(const struct lives *lives, const struct share *shares, size_t nr,
			   uint64_t begin_ns, struct sample *out)
{
	const struct sample *from = &lives->profile->samples[shares->from];
	struct cut cut = {.begin_ns = min_u64(begin_ns, from->time_ns),
			  .end_ns = from->time_ns,
			  .cpu_ns = from->cpu_ns};

	for (size_t i = 0; i < nr; i++)
		cut.cpu_ns += shares[i].ns;
	for (size_t i = 0; i < nr; i++)
		out[i] = make_sample(lives, &shares[i], &cut);
	return nr;
}

/* The time that gets a stack, for `profc info`. */
static uint64_t estimated_ns(const struct lives *lives)
{
	const struct sample *samples = lives->profile->samples;
	uint64_t ns = 0;

	for (size_t i = 0; i < lives->shares.nr; i++)
		if (samples[lives->shares.rows[i].from].kind == SAMPLE_UNATTRIBUTED)
			ns += lives->shares.rows[i].ns;
	return ns;
}

static bool is_empty(const struct sample *sample)
{
	return !sample->cpu_ns && !sample->runq_ns && !sample->blocked_ns;
}

static void make_all(struct lives *lives)
{
	struct profile *profile = lives->profile;
	const struct share_list *shares = &lives->shares;
	size_t nr = 0, next = 0;
	struct sample *samples = xmalloc((profile->nr_samples + shares->nr + 1) * sizeof(*samples));
	cleanup_free uint64_t *previous_ns = xcalloc(profile->nr_threads + 1, sizeof(*previous_ns));

	for (size_t i = 0; i < profile->nr_threads; i++)
		previous_ns[i] = profile->threads[i].start_ns;
	for (size_t i = 0; i < profile->nr_samples; i++) {
		const struct sample *sample = &profile->samples[i];
		size_t first = next;

		while (next < shares->nr && shares->rows[next].from == i)
			next++;
		if (next > first)
			nr += make_samples(lives, &shares->rows[first], next - first,
					   previous_ns[sample->thread.v], &samples[nr]);
		previous_ns[sample->thread.v] = sample->time_ns;
		if ((next > first || life_of(lives, i)->is_unseen) && is_empty(sample))
			continue;
		samples[nr] = *sample;
		/* Unseen time is at the moments of the samples that stand for it. */
		if (next > first)
			samples[nr].time_ns = max_u64(sample->time_ns, samples[nr - 1].time_ns);
		nr++;
	}
	profile_take_samples(profile, samples, nr);
}

void lives_share(struct lives *lives)
{
	struct profile *profile = lives->profile;

	give_parts(lives);
	share_groups(lives);
	if (!lives->shares.nr)
		return;
	qsort(lives->shares.rows, lives->shares.nr, sizeof(*lives->shares.rows), by_source);
	profile_set_counter(profile, "estimated_cpu_ns",
			    profile_counter(profile, "estimated_cpu_ns") + estimated_ns(lives));
	set_stands(lives);
	make_all(lives);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Timed calls as rows of a profile. */
#include "probe/prober_spans_priv.h"

#include "base/alloc.h"
#include "base/minmax.h"
#include "heap/heap_ring.h"
#include "inject/installation.h"
#include "probe/probed_process_priv.h"
#include "profile/profile.h"

void timed_calls_init(struct probed *probed, const struct slow_limits *limits,
		      const struct heap_moment *begun)
{
	const struct span_scale scale = span_scale_since(begun);
	uint32_t nr = probed->installation ? installation_nr_spans(probed->installation) : 0;

	probed->timed = nr ? xcalloc(nr, sizeof(*probed->timed)) : NULL;
	probed->nr_timed = nr;
	for (uint32_t i = 0; i < nr; i++) {
		probed->timed[i].index = i;
		probed->timed[i].row = NO_ROW;
		probed->timed[i].slow.least_ns = limits->least_ns[i];
		probed->timed[i].slow.most_ns = limits->most_ns[i];
		slow_calls_set_limit(&probed->timed[i], probed->installation, NULL, &scale);
	}
}

static void add_difference(struct patch_span *sum, const struct patch_span *now,
			   const struct patch_span *before)
{
	sum->nr_begun += now->nr_begun - before->nr_begun;
	sum->total += now->total - before->total;
	for (size_t i = 0; i < PATCH_SPAN_LENGTHS; i++)
		sum->nr[i] += now->nr[i] - before->nr[i];
	sum->longest = now->longest;
	sum->longest_begin = now->longest_begin;
	sum->longest_tid = now->longest_tid;
}

void timed_calls_keep(struct timed_calls *timed, const struct installation *installation)
{
	struct patch_span now;
	uint64_t nr_threads;

	installation_span(installation, timed->index, false, &now, &nr_threads);
	add_difference(&timed->kept, &now, &timed->last);
	timed->last = now;
	slow_calls_end(timed, installation);
}

void timed_calls_skip(struct timed_calls *timed, const struct installation *installation)
{
	uint64_t nr_threads;

	installation_forget_longest(installation, timed->index);
	installation_span(installation, timed->index, false, &timed->last, &nr_threads);
	timed->longest = 0;
	slow_calls_skip(timed, installation);
}

/* The process may write anything there. */
static bool is_possible(struct timed_calls *timed, const struct patch_span *now,
			uint64_t nr_threads, uint64_t elapsed, struct believed *believed)
{
	uint64_t ended = span_sum_of(now);
	uint64_t most = elapsed > UINT64_MAX / (nr_threads + 1) ? UINT64_MAX : elapsed * nr_threads;

	for (size_t i = 0; i < PATCH_SPAN_LENGTHS; i++) {
		if (now->nr[i] < timed->last.nr[i])
			return false;
	}
	return now->total >= timed->last.total && now->total <= most && now->longest <= elapsed &&
	       believed_calls(believed, &timed->begun, now->nr_begun) == now->nr_begun &&
	       believed_calls(believed, &timed->ended, ended) == ended;
}

static void add_sum(struct timed_calls *timed, const struct patch_span *new,
		    const struct span_scale *scale, const struct timed_calls_told *told)
{
	struct profile *profile = told->profile;
	struct profile_span_sum row = {.span = timed->row,
				       .to_ns = told->to_ns,
				       .nr_begun = new->nr_begun,
				       .total_ns = span_length_ns(scale, new->total),
				       .longest_thread = UINT32_MAX};

	if (new->longest > timed->longest) {
		row.longest_ns = span_length_ns(scale, new->longest);
		row.longest_from_ns = min_u64(span_time_ns(scale, new->longest_begin), told->to_ns);
		row.longest_thread = span_find_thread(
			profile, profile->spans.rows[timed->row].process, new->longest_tid);
		timed->longest = new->longest;
	}
	if (row.nr_begun || row.total_ns || row.longest_ns)
		profile_add_span_sum(profile, &row);
}

static void add_lengths(const struct timed_calls *timed, const struct patch_span *new,
			const struct span_scale *scale, const struct timed_calls_told *told)
{
	for (unsigned int i = 0; i < PATCH_SPAN_LENGTHS; i++) {
		if (!new->nr[i])
			continue;
		profile_add_span_length(
			told->profile,
			&(struct profile_span_length){
				.span = timed->row,
				.to_ns = told->to_ns,
				.least_ns = span_length_ns(scale, patch_span_least(i)),
				.end_ns = span_length_ns(scale, patch_span_least(i + 1)),
				.nr = new->nr[i]});
	}
}

static bool is_due(const struct timed_calls *timed, const struct timed_calls_told *told)
{
	uint64_t from_ns = told->profile->spans.rows[timed->row].from_ns;
	uint64_t before_ns = timed->told_ns - min_u64(timed->told_ns, from_ns);

	return !timed->told_ns || !told->is_counting || told->is_gone ||
	       told->profile->spans.are_taken || told->to_ns - timed->told_ns >= before_ns / 4;
}

bool timed_calls_tell(struct timed_calls *timed, const struct installation *installation,
		      const struct timed_calls_told *told)
{
	struct span_scale scale = span_scale_since(told->begun);
	struct patch_span now = timed->last, new = timed->kept;
	bool are_taken = told->profile->spans.are_taken;
	uint64_t nr_threads = 0;

	scale.start_ns = told->start_ns;
	if (timed->is_spoilt)
		return false;
	if (scale.ns_per_cycle <= 0)
		return true;
	if (told->is_counting) {
		installation_span(installation, timed->index, are_taken, &now, &nr_threads);
		if (!is_possible(timed, &now, nr_threads, scale.now.cycles - told->begun->cycles,
				 told->believed)) {
			timed->is_spoilt = true;
			return false;
		}
		slow_calls_set_limit(timed, installation, &now, &scale);
	}
	slow_calls_tell(timed, installation, &scale, told);
	if (!is_due(timed, told))
		return true;
	if (told->is_counting)
		add_difference(&new, &now, &timed->last);
	if (are_taken)
		timed->longest = 0; /* each row has the longest of its own time */
	add_sum(timed, &new, &scale, told);
	add_lengths(timed, &new, &scale, told);
	timed->last = now;
	timed->kept = (struct patch_span){.nr_begun = 0};
	timed->told_ns = told->to_ns;
	return true;
}

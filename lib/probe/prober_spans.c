// SPDX-License-Identifier: GPL-2.0-or-later
/* Timed calls as rows of a profile. */
#include "probe/prober_spans_priv.h"

#include "base/alloc.h"
#include "base/minmax.h"
#include "heap/heap_ring.h"
#include "inject/installation.h"
#include "probe/probed_process_priv.h"
#include "profile/profile.h"

/* Deeper nested children of a process are not looked for. */
#define GENERATIONS_MAX 64

void timed_calls_init(struct probed *probed)
{
	uint32_t nr = probed->installation ? installation_nr_spans(probed->installation) : 0;

	probed->timed = nr ? xcalloc(nr, sizeof(*probed->timed)) : NULL;
	probed->nr_timed = nr;
	for (uint32_t i = 0; i < nr; i++) {
		probed->timed[i].index = i;
		probed->timed[i].row = NO_ROW;
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

	installation_span(installation, timed->index, &now, &nr_threads);
	add_difference(&timed->kept, &now, &timed->last);
	timed->last = now;
}

void timed_calls_skip(struct timed_calls *timed, const struct installation *installation)
{
	uint64_t nr_threads;

	installation_forget_longest(installation, timed->index);
	installation_span(installation, timed->index, &timed->last, &nr_threads);
	timed->longest = 0;
}

/* From the processor's clock to times. */
struct scale {
	const struct heap_moment *begun;
	struct heap_moment now;
	double ns_per_cycle;
	uint64_t start_ns;
};

static uint64_t length_ns(const struct scale *scale, uint64_t cycles)
{
	double ns = (double)cycles * scale->ns_per_cycle + 0.5;

	return ns < 0x1p62 ? (uint64_t)ns : UINT64_C(1) << 62;
}

/* In the profile. */
static uint64_t time_ns(const struct scale *scale, uint64_t cycles)
{
	uint64_t ns = scale->begun->ns;

	if (cycles > scale->begun->cycles)
		ns += length_ns(scale, cycles - scale->begun->cycles);
	return ns - min_u64(ns, scale->start_ns);
}

static uint64_t sum_of(const struct patch_span *span)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < PATCH_SPAN_LENGTHS; i++)
		sum += span->nr[i];
	return sum;
}

/* The process may write anything there. */
static bool is_possible(struct timed_calls *timed, const struct patch_span *now,
			uint64_t nr_threads, uint64_t elapsed, struct believed *believed)
{
	uint64_t ended = sum_of(now);
	uint64_t most = elapsed > UINT64_MAX / (nr_threads + 1) ? UINT64_MAX : elapsed * nr_threads;

	for (size_t i = 0; i < PATCH_SPAN_LENGTHS; i++) {
		if (now->nr[i] < timed->last.nr[i])
			return false;
	}
	return now->total >= timed->last.total && now->total <= most && now->longest <= elapsed &&
	       believed_calls(believed, &timed->begun, now->nr_begun) == now->nr_begun &&
	       believed_calls(believed, &timed->ended, ended) == ended;
}

/* Is the thread one of the process, or of a forked child? */
static bool is_of(const struct profile *profile, const struct profile_thread *thread,
		  uint32_t process)
{
	uint32_t at = thread->process;

	for (int i = 0; i < GENERATIONS_MAX && at < profile->nr_processes; i++) {
		if (at == process)
			return true;
		at = profile->processes[at].parent;
	}
	return false;
}

/* The latest one with that id. */
static uint32_t find_thread(const struct profile *profile, uint32_t process, uint64_t tid)
{
	for (size_t i = profile->nr_threads; tid && i > 0; i--) {
		const struct profile_thread *thread = &profile->threads[i - 1];

		if ((uint64_t)thread->tid == tid && is_of(profile, thread, process))
			return (uint32_t)i - 1;
	}
	return UINT32_MAX;
}

static void add_sum(struct timed_calls *timed, const struct patch_span *new,
		    const struct scale *scale, const struct timed_calls_told *told)
{
	struct profile *profile = told->profile;
	struct profile_span_sum row = {.span = timed->row,
				       .to_ns = told->to_ns,
				       .nr_begun = new->nr_begun,
				       .total_ns = length_ns(scale, new->total),
				       .longest_thread = UINT32_MAX};

	if (new->longest > timed->longest) {
		row.longest_ns = length_ns(scale, new->longest);
		row.longest_from_ns = min_u64(time_ns(scale, new->longest_begin), told->to_ns);
		row.longest_thread = find_thread(profile, profile->spans.rows[timed->row].process,
						 new->longest_tid);
		timed->longest = new->longest;
	}
	if (row.nr_begun || row.total_ns || row.longest_ns)
		profile_add_span_sum(profile, &row);
}

static void add_lengths(const struct timed_calls *timed, const struct patch_span *new,
			const struct scale *scale, const struct timed_calls_told *told)
{
	for (unsigned int i = 0; i < PATCH_SPAN_LENGTHS; i++) {
		if (!new->nr[i])
			continue;
		profile_add_span_length(told->profile,
					&(struct profile_span_length){
						.span = timed->row,
						.to_ns = told->to_ns,
						.least_ns = length_ns(scale, patch_span_least(i)),
						.end_ns = length_ns(scale, patch_span_least(i + 1)),
						.nr = new->nr[i]});
	}
}

static bool is_due(const struct timed_calls *timed, const struct timed_calls_told *told)
{
	uint64_t from_ns = told->profile->spans.rows[timed->row].from_ns;
	uint64_t before_ns = timed->told_ns - min_u64(timed->told_ns, from_ns);

	return !timed->told_ns || !told->is_counting || told->is_gone ||
	       told->to_ns - timed->told_ns >= before_ns / 4;
}

bool timed_calls_tell(struct timed_calls *timed, const struct installation *installation,
		      const struct timed_calls_told *told)
{
	struct scale scale = {
		.begun = told->begun, .now = heap_moment_now(), .start_ns = told->start_ns};
	uint64_t elapsed = scale.now.cycles - scale.begun->cycles, nr_threads = 0;
	struct patch_span now = timed->last, new = timed->kept;

	if (timed->is_spoilt)
		return false;
	if ((int64_t)elapsed <= 0 || !is_due(timed, told))
		return true;
	scale.ns_per_cycle = (double)(scale.now.ns - scale.begun->ns) / (double)elapsed;
	if (told->is_counting) {
		installation_span(installation, timed->index, &now, &nr_threads);
		if (!is_possible(timed, &now, nr_threads, elapsed, told->believed)) {
			timed->is_spoilt = true;
			return false;
		}
		add_difference(&new, &now, &timed->last);
	}
	add_sum(timed, &new, &scale, told);
	add_lengths(timed, &new, &scale, told);
	timed->last = now;
	timed->kept = (struct patch_span){.nr_begun = 0};
	timed->told_ns = told->to_ns;
	return true;
}

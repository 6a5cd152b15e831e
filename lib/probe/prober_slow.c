// SPDX-License-Identifier: GPL-2.0-or-later
/* Which timed calls are slow, and those as rows of a profile. */
#include <stdatomic.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "inject/installation.h"
#include "probe/probed_process_priv.h"
#include "probe/prober_spans_priv.h"
#include "profile/profile.h"

/* Without a limit of the user's: the longest so many of all calls, */
#define SLOW_PERCENT 2
/* once there are so many, and until then those of this length; */
#define CALLS_MIN      500
#define FIRST_LEAST_NS 20000
/* but no more per second, so that recordings stay small. */
#define SLOW_PER_S 2000
/* In a profile. */
#define SLOW_ROWS_MAX 2000000
/* A new thread is found by a tick, some time after it has begun: until then its calls can wait. */
#define NEW_THREAD_NS (100 * NS_PER_MS)
/* A limit in cycles is lower by this, as the speed of the clock is not known exactly. */
#define LEAST_MARGIN 0.999

static _Atomic uint64_t *word(uint64_t *shared)
{
	return (_Atomic uint64_t *)(void *)shared;
}

/*
 * The limit below which as many calls are as there should be. `seconds`: since timed->slow.seen.
 */
static unsigned int find_limit(const struct timed_calls *timed, const struct patch_span *now,
			       double seconds)
{
	double most = (double)span_sum_of(now) * SLOW_PERCENT / 100;
	double most_new = SLOW_PER_S * seconds, nr = 0, nr_new = 0;
	unsigned int index = PATCH_SPAN_LENGTHS;

	while (index > 0 && nr < most) {
		nr += (double)now->nr[index - 1];
		nr_new += (double)(now->nr[index - 1] - timed->slow.seen.nr[index - 1]);
		if (nr_new > most_new)
			break;
		index--;
	}
	return index;
}

static uint64_t in_cycles(const struct span_scale *scale, uint64_t ns)
{
	return (uint64_t)((double)ns / scale->ns_per_cycle * LEAST_MARGIN);
}

void slow_calls_set_limit(struct timed_calls *timed, const struct installation *installation,
			  const struct patch_span *now, const struct span_scale *scale)
{
	struct patch_slow *shared = installation_slow(installation, timed->index);
	uint64_t least_ns = timed->slow.least_ns ? timed->slow.least_ns : FIRST_LEAST_NS;
	uint64_t since = scale->now.cycles - timed->slow.seen_cycles;
	double seconds = (double)since * scale->ns_per_cycle / 1e9;
	uint64_t least = 0; /* as long as the speed of the clock is not known */

	if (!timed->slow.least_ns && now && span_sum_of(now) >= CALLS_MIN)
		least = patch_span_least(find_limit(timed, now, seconds));
	else if (scale->ns_per_cycle > 0)
		least = in_cycles(scale, least_ns);
	if (timed->slow.most_ns && scale->ns_per_cycle > 0)
		least = min_u64(least, in_cycles(scale, timed->slow.most_ns));
	if (now)
		timed->slow.seen = *now;
	timed->slow.seen_cycles = scale->now.cycles;
	atomic_store_explicit(word(&shared->least), least, memory_order_relaxed);
}

void slow_calls_end(struct timed_calls *timed, const struct installation *installation)
{
	struct patch_slow *shared = installation_slow(installation, timed->index);

	timed->slow.end = atomic_load_explicit(word(&shared->nr), memory_order_acquire);
}

void slow_calls_skip(struct timed_calls *timed, const struct installation *installation)
{
	/* Some had no thread yet when counting was over. */
	if (timed->slow.next < timed->slow.end)
		timed->slow.nr_dropped += timed->slow.end - timed->slow.next;
	slow_calls_end(timed, installation);
	timed->slow.next = timed->slow.end;
}

/* Threads that were found a moment ago, by their ids. */
#define MEMO 64

struct pass {
	struct timed_calls *timed;
	const struct span_scale *scale;
	const struct timed_calls_told *told;
	struct patch_slow *shared;
	struct {
		uint64_t tid;
		uint32_t row;
	} threads[MEMO];
};

static uint32_t thread_of(struct pass *pass, uint64_t tid)
{
	struct profile *profile = pass->told->profile;
	uint32_t at = (uint32_t)(tid % MEMO);

	if (pass->threads[at].tid != tid || !tid) {
		pass->threads[at].tid = tid;
		pass->threads[at].row = span_find_thread(
			profile, profile->spans.rows[pass->timed->row].process, tid);
	}
	return pass->threads[at].row;
}

/* False: it cannot be, or is one too many. */
static bool add(struct pass *pass, const struct patch_slow_call *call)
{
	struct profile *profile = pass->told->profile;
	const struct span_scale *scale = pass->scale;
	struct profile_slow_call row = {.span = pass->timed->row};

	if (call->begin < scale->begun->cycles || call->begin > scale->now.cycles ||
	    call->length > scale->now.cycles - call->begin ||
	    profile->spans.nr_slow >= SLOW_ROWS_MAX)
		return false;
	row.length_ns = span_length_ns(scale, call->length);
	if (row.length_ns < pass->timed->slow.least_ns)
		return true;
	row.from_ns = span_time_ns(scale, call->begin);
	row.thread = thread_of(pass, call->tid);
	profile_add_slow_call(profile, &row);
	return true;
}

/* Is it of a thread that the profile may have in a moment? */
static bool is_too_early(struct pass *pass, const struct patch_slow_call *call)
{
	const struct timed_calls_told *told = pass->told;
	uint64_t room = PATCH_SLOW_CALLS / 2 + pass->timed->slow.next;

	return !told->is_gone && !told->is_last && call->begin <= pass->scale->now.cycles &&
	       span_time_ns(pass->scale, call->begin) + NEW_THREAD_NS > told->to_ns &&
	       atomic_load_explicit(word(&pass->shared->nr), memory_order_acquire) < room &&
	       thread_of(pass, call->tid) == UINT32_MAX;
}

enum found { FOUND, FOUND_LATER, FOUND_NEVER };

/* Copies a record, unless it is not written yet, or another one is over it. */
static enum found take(struct pass *pass, struct patch_slow_call *call)
{
	uint64_t number = pass->timed->slow.next + 1;
	struct patch_slow_call *at = &pass->shared->calls[(number - 1) % PATCH_SLOW_CALLS];
	uint64_t written = atomic_load_explicit(word(&at->number), memory_order_acquire);

	if (written < number && pass->timed->slow.awaited != number && !pass->told->is_gone) {
		pass->timed->slow.awaited = number;
		return FOUND_LATER;
	}
	call->begin = atomic_load_explicit(word(&at->begin), memory_order_acquire);
	call->length = atomic_load_explicit(word(&at->length), memory_order_acquire);
	call->tid = atomic_load_explicit(word(&at->tid), memory_order_acquire);
	/* The next one in this place would have taken its number by now. */
	if (written != number ||
	    atomic_load_explicit(word(&pass->shared->nr), memory_order_acquire) >=
		    number + PATCH_SLOW_CALLS)
		return FOUND_NEVER;
	return is_too_early(pass, call) ? FOUND_LATER : FOUND;
}

void slow_calls_tell(struct timed_calls *timed, const struct installation *installation,
		     const struct span_scale *scale, const struct timed_calls_told *told)
{
	struct pass pass = {.timed = timed,
			    .scale = scale,
			    .told = told,
			    .shared = installation_slow(installation, timed->index)};
	uint64_t nr = atomic_load_explicit(word(&pass.shared->nr), memory_order_acquire);
	uint64_t end = told->is_counting ? nr : min_u64(nr, timed->slow.end);

	if (nr > timed->slow.next + PATCH_SLOW_CALLS) {
		uint64_t first = min_u64(nr - PATCH_SLOW_CALLS, max_u64(end, timed->slow.next));

		timed->slow.nr_dropped += first - timed->slow.next;
		timed->slow.next = first;
	}
	while (timed->slow.next < end) {
		struct patch_slow_call call;
		enum found found = take(&pass, &call);

		if (found == FOUND_LATER)
			break;
		timed->slow.nr_dropped += found == FOUND_NEVER || !add(&pass, &call);
		timed->slow.next++;
	}
}

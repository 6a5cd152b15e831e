// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/slow_calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/minmax.h"
#include "profile/profile.h"
#include "profile/span_limit.h"

#define PERCENT_DEFAULT 99

const char *profile_span_name(const struct profile *profile, const struct profile_span *span)
{
	struct frame_symbols chain = {0};
	struct function_id function;
	const char *pair = profile_str(profile, span->pair);

	if (*pair)
		return pair;
	if (span->where.v < profile->symbols.nr_frames)
		chain = profile->symbols.frames[span->where.v];
	if (!chain.nr)
		return "";
	function = profile->symbols.locations[chain.first + chain.nr - 1].function;
	return profile_str(profile, profile->symbols.functions[function.v].name);
}

/* The lengths of its calls, and which rows of profile.spans these are of. */
struct lengths {
	bool *is_span; /* owned, as the next */
	struct profile_span_length *rows;
	size_t nr;
};

static bool choose_spans(const struct profile *profile, const char *function,
			 struct lengths *lengths)
{
	const struct profile_spans *spans = &profile->spans;
	bool any = false;

	lengths->is_span = xcalloc(spans->nr + 1, sizeof(*lengths->is_span));
	for (size_t i = 0; i < spans->nr; i++) {
		lengths->is_span[i] =
			strcmp(profile_span_name(profile, &spans->rows[i]), function) == 0;
		any |= lengths->is_span[i];
	}
	return any;
}

static int compare_lengths(const void *left, const void *right)
{
	const struct profile_span_length *a = left, *b = right;

	return (a->least_ns > b->least_ns) - (a->least_ns < b->least_ns);
}

static void gather_lengths(const struct profile *profile, struct lengths *lengths)
{
	const struct profile_spans *spans = &profile->spans;

	lengths->rows = xcalloc(spans->nr_lengths + 1, sizeof(*lengths->rows));
	for (size_t i = 0; i < spans->nr_lengths; i++) {
		if (lengths->is_span[spans->lengths[i].span])
			lengths->rows[lengths->nr++] = spans->lengths[i];
	}
	qsort(lengths->rows, lengths->nr, sizeof(*lengths->rows), compare_lengths);
}

/* Calls of one range of lengths are spread evenly over it. */
static uint64_t percentile_ns(const struct lengths *lengths, uint64_t nr_all, double percent)
{
	double wanted = (double)nr_all * percent / 100, before = 0;

	for (size_t i = 0; i < lengths->nr; i++) {
		const struct profile_span_length *row = &lengths->rows[i];
		double width_ns = (double)(row->end_ns - row->least_ns);

		if (before + (double)row->nr >= wanted)
			return row->least_ns +
			       (uint64_t)(width_ns * (wanted - before) / (double)row->nr);
		before += (double)row->nr;
	}
	return UINT64_MAX;
}

static uint64_t nr_at_least(const struct lengths *lengths, uint64_t least_ns)
{
	double nr = 0;

	for (size_t i = 0; i < lengths->nr; i++) {
		const struct profile_span_length *row = &lengths->rows[i];
		uint64_t from_ns = max_u64(row->least_ns, least_ns);

		if (from_ns < row->end_ns)
			nr += (double)row->nr * (double)(row->end_ns - from_ns) /
			      (double)(row->end_ns - row->least_ns);
	}
	return (uint64_t)llround(nr);
}

static bool is_slow(const struct slow_calls *slow, const struct lengths *lengths,
		    const struct profile_slow_call *call)
{
	return lengths->is_span[call->span] && call->length_ns >= slow->least_ns;
}

static int compare_intervals(const void *left, const void *right)
{
	const struct slow_interval *a = left, *b = right;

	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* By thread, as counting sort, and then by time. */
static void gather_calls(struct slow_calls *slow, const struct profile *profile,
			 const struct lengths *lengths)
{
	const struct profile_spans *spans = &profile->spans;
	size_t *first = xcalloc(profile->nr_threads + 2, sizeof(*first));

	for (size_t i = 0; i < spans->nr_slow; i++) {
		const struct profile_slow_call *call = &spans->slow[i];

		if (!is_slow(slow, lengths, call))
			continue;
		slow->nr_known++;
		slow->known_ns += call->length_ns;
		if (call->thread < profile->nr_threads)
			first[call->thread + 2]++;
	}
	for (size_t i = 2; i < profile->nr_threads + 2; i++)
		first[i] += first[i - 1];
	slow->at = xcalloc(slow->nr_known + 1, sizeof(*slow->at));
	for (size_t i = 0; i < spans->nr_slow; i++) {
		const struct profile_slow_call *call = &spans->slow[i];

		if (is_slow(slow, lengths, call) && call->thread < profile->nr_threads)
			slow->at[first[call->thread + 1]++] = (struct slow_interval){
				call->from_ns, call->from_ns + call->length_ns};
	}
	slow->first_of_thread = first;
	for (size_t i = 0; i < profile->nr_threads; i++)
		qsort(slow->at + first[i], first[i + 1] - first[i], sizeof(*slow->at),
		      compare_intervals);
}

static int fail_not_timed(const char *function, const struct profile *profile, struct err *err)
{
	if (!profile->spans.nr)
		err_set(err, ERR_NOT_FOUND, "no calls were timed");
	else if (!*function)
		err_set(err, ERR_NOT_FOUND, "which function? Calls of several were timed");
	else
		err_set(err, ERR_NOT_FOUND, "calls of '%s' were not timed", function);
	err_hint(err, profile->spans.nr ? "'profc report --spans' shows the functions"
					: "'profc record --spans FUNC' times those of a function");
	return ERR_NOT_FOUND;
}

/* The only one that was timed; else "". */
static const char *only_function(const struct profile *profile)
{
	const struct profile_spans *spans = &profile->spans;
	const char *name = spans->nr ? profile_span_name(profile, &spans->rows[0]) : "";

	for (size_t i = 1; i < spans->nr; i++) {
		if (strcmp(profile_span_name(profile, &spans->rows[i]), name) != 0)
			return "";
	}
	return name;
}

static void sum_all(struct slow_calls *slow, const struct profile *profile,
		    const struct lengths *lengths)
{
	const struct profile_spans *spans = &profile->spans;

	for (size_t i = 0; i < lengths->nr; i++)
		slow->nr_all += lengths->rows[i].nr;
	for (size_t i = 0; i < spans->nr_sums; i++) {
		if (lengths->is_span[spans->sums[i].span])
			slow->all_ns += spans->sums[i].total_ns;
	}
}

static int fill(struct slow_calls *slow, const struct profile *profile,
		const struct span_limit *limit, struct lengths *lengths, struct err *err)
{
	slow->function = xstrdup(*limit->function ? limit->function : only_function(profile));
	if (!*slow->function || !choose_spans(profile, slow->function, lengths))
		return fail_not_timed(slow->function, profile, err);
	gather_lengths(profile, lengths);
	sum_all(slow, profile, lengths);
	slow->least_ns = limit->least_ns;
	if (!limit->least_ns) {
		slow->percent = limit->percent > 0 ? limit->percent : PERCENT_DEFAULT;
		slow->least_ns = percentile_ns(lengths, slow->nr_all, slow->percent);
	}
	slow->nr_slow = nr_at_least(lengths, slow->least_ns);
	gather_calls(slow, profile, lengths);
	if (slow->nr_known)
		return 0;
	return err_set(err, ERR_NOT_FOUND, "no call of '%s' as long as that is in the recording",
		       slow->function);
}

int slow_calls_new(const struct profile *profile, const char *text, struct slow_calls **slow,
		   struct err *err)
{
	struct slow_calls *made = xcalloc(1, sizeof(*made));
	struct lengths lengths = {.nr = 0};
	struct span_limit limit;
	int status = span_limit_parse(text, &limit, err);

	if (status == 0)
		status = fill(made, profile, &limit, &lengths, err);
	span_limit_release(&limit);
	free(lengths.is_span);
	free(lengths.rows);
	if (status == 0)
		*slow = made;
	else
		slow_calls_free(made);
	return status;
}

void slow_calls_free(struct slow_calls *slow)
{
	if (!slow)
		return;
	free(slow->function);
	free(slow->at);
	free(slow->first_of_thread);
	free(slow);
}

size_t slow_calls_find(const struct slow_calls *slow, struct thread_id thread, uint64_t time_ns)
{
	size_t low = slow->first_of_thread[thread.v], first = low;
	size_t high = slow->first_of_thread[thread.v + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (slow->at[middle].from_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low > first && time_ns <= slow->at[low - 1].to_ns ? low - 1 : SLOW_CALL_NONE;
}

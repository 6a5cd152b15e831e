// SPDX-License-Identifier: GPL-2.0-or-later
/* The timed calls of an excerpt. */
#include "base/minmax.h"
#include "profile/excerpt_priv.h"
#include "profile/profile.h"

static void use_thread(struct making *making, uint32_t thread)
{
	if (thread < making->from->nr_threads)
		excerpt_use(making, RECORD_THREADS, thread);
}

static bool is_slow_in(const struct making *making, const struct profile_slow_call *call)
{
	return call->from_ns + call->length_ns > making->what->from_ns;
}

void excerpt_use_calls(struct making *making)
{
	const struct profile_spans *spans = making->what->spans;

	for (size_t i = 0; spans && i < spans->nr_sums; i++) {
		const struct profile_span_sum *row = &spans->sums[i];

		excerpt_use(making, RECORD_PROCESSES, making->from->spans.rows[row->span].process);
		use_thread(making, row->longest_thread);
	}
	for (size_t i = 0; spans && i < spans->nr_slow; i++) {
		const struct profile_slow_call *row = &spans->slow[i];

		if (!is_slow_in(making, row))
			continue;
		excerpt_use(making, RECORD_PROCESSES, making->from->spans.rows[row->span].process);
		use_thread(making, row->thread);
	}
}

/* A function is shown without calls as well, if its process was there. */
static bool is_there(const struct making *making, uint32_t span)
{
	return making->what->spans &&
	       excerpt_has(making, RECORD_PROCESSES, making->from->spans.rows[span].process);
}

void excerpt_use_timed_code(struct making *making)
{
	const struct profile_spans *spans = &making->from->spans;

	for (uint32_t i = 0; i < spans->nr; i++) {
		if (is_there(making, i))
			excerpt_use(making, RECORD_FRAMES, spans->rows[i].where.v);
	}
}

static uint64_t within(const struct making *making, uint64_t time_ns)
{
	return min_u64(max_u64(time_ns, making->what->from_ns), making->what->to_ns);
}

static void take_functions(struct making *making)
{
	const struct profile *from = making->from;
	uint32_t *rows = renumbering_begin(&making->map, from, RECORD_SPANS);

	for (uint32_t i = 0; i < from->spans.nr; i++) {
		struct profile_span row = from->spans.rows[i];

		rows[i] = EXCERPT_UNUSED;
		if (!is_there(making, i))
			continue;
		row.from_ns = within(making, max_u64(row.from_ns, making->what->timed_from_ns));
		renumber(&making->map, RECORD_SPANS, &row);
		renumber_texts(making->into, from, RECORD_SPANS, &row);
		rows[i] = profile_add_span(making->into, &row);
	}
}

static void take_slow(struct making *making)
{
	const struct profile_spans *spans = making->what->spans;

	for (size_t i = 0; i < spans->nr_slow; i++) {
		struct profile_slow_call row = spans->slow[i];
		uint64_t before_ns =
			making->what->from_ns - min_u64(making->what->from_ns, row.from_ns);

		if (!is_slow_in(making, &row))
			continue;
		row.from_ns += before_ns;
		row.length_ns -= before_ns;
		renumber(&making->map, RECORD_SLOW_CALLS, &row);
		profile_add_slow_call(making->into, &row);
	}
}

void excerpt_take_spans(struct making *making)
{
	const struct profile_spans *spans = making->what->spans;

	if (!spans)
		return;
	take_functions(making);
	for (size_t i = 0; i < spans->nr_sums; i++) {
		struct profile_span_sum row = spans->sums[i];

		row.to_ns = within(making, row.to_ns);
		row.longest_from_ns = within(making, row.longest_from_ns);
		renumber(&making->map, RECORD_SPAN_SUMS, &row);
		profile_add_span_sum(making->into, &row);
	}
	for (size_t i = 0; i < spans->nr_lengths; i++) {
		struct profile_span_length row = spans->lengths[i];

		row.to_ns = within(making, row.to_ns);
		renumber(&making->map, RECORD_SPAN_LENGTHS, &row);
		profile_add_span_length(making->into, &row);
	}
	take_slow(making);
}

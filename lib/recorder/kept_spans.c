// SPDX-License-Identifier: GPL-2.0-or-later
#include "recorder/kept_spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/minmax.h"

static void release_rows(struct profile_spans *rows)
{
	free(rows->sums);
	free(rows->lengths);
	free(rows->slow);
	*rows = (struct profile_spans){0};
}

void kept_spans_release(struct kept_spans *spans)
{
	free(spans->looks);
	release_rows(&spans->rows);
	*spans = (struct kept_spans){0};
}

static size_t bytes_of_rows(const struct profile_spans *rows)
{
	return rows->nr_sums * sizeof(*rows->sums) + rows->nr_lengths * sizeof(*rows->lengths) +
	       rows->nr_slow * sizeof(*rows->slow);
}

size_t kept_spans_bytes(const struct kept_spans *spans)
{
	return spans->nr_looks * sizeof(*spans->looks) + bytes_of_rows(&spans->rows);
}

static bool is_empty(const struct profile_spans *rows)
{
	return !rows->nr_sums && !rows->nr_lengths && !rows->nr_slow;
}

size_t kept_spans_bytes_of(const struct profile_spans *spans)
{
	return is_empty(spans) ? 0 : sizeof(struct kept_spans_look) + bytes_of_rows(spans);
}

static void add_sums(struct profile_spans *into, const struct profile_span_sum *rows, size_t nr)
{
	ARRAY_RESERVE(into->sums, into->nr_sums + nr, into->cap_sums);
	if (nr)
		memcpy(&into->sums[into->nr_sums], rows, nr * sizeof(*rows));
	into->nr_sums += nr;
}

static void add_lengths(struct profile_spans *into, const struct profile_span_length *rows,
			size_t nr)
{
	ARRAY_RESERVE(into->lengths, into->nr_lengths + nr, into->cap_lengths);
	if (nr)
		memcpy(&into->lengths[into->nr_lengths], rows, nr * sizeof(*rows));
	into->nr_lengths += nr;
}

static void add_slow(struct profile_spans *into, const struct profile_slow_call *row)
{
	ARRAY_GROW(into->slow, into->nr_slow, into->cap_slow);
	into->slow[into->nr_slow++] = *row;
}

void kept_spans_look(struct kept_spans *spans, const struct profile_spans *rows, uint64_t from_ns)
{
	if (is_empty(rows))
		return;
	add_sums(&spans->rows, rows->sums, rows->nr_sums);
	add_lengths(&spans->rows, rows->lengths, rows->nr_lengths);
	for (size_t i = 0; i < rows->nr_slow; i++)
		add_slow(&spans->rows, &rows->slow[i]);
	ARRAY_GROW(spans->looks, spans->nr_looks, spans->cap_looks);
	spans->looks[spans->nr_looks++] =
		(struct kept_spans_look){.from_ns = from_ns,
					 .to_ns = max_u64(rows->told_ns, from_ns),
					 .nr_sums = rows->nr_sums,
					 .nr_lengths = rows->nr_lengths};
}

void spans_since_begin(struct spans_since *since, uint64_t asked_ns)
{
	*since = (struct spans_since){.asked_ns = asked_ns, .from_ns = asked_ns};
}

void spans_since_add(struct spans_since *since, const struct kept_spans *spans)
{
	const struct profile_span_sum *sum = spans->rows.sums;
	const struct profile_span_length *length = spans->rows.lengths;

	for (size_t i = 0; i < spans->nr_looks; i++) {
		const struct kept_spans_look *look = &spans->looks[i];

		if (look->from_ns >= since->asked_ns) {
			add_sums(&since->rows, sum, look->nr_sums);
			add_lengths(&since->rows, length, look->nr_lengths);
		} else {
			since->from_ns = max_u64(since->from_ns, look->to_ns);
		}
		sum += look->nr_sums;
		length += look->nr_lengths;
	}
	for (size_t i = 0; i < spans->rows.nr_slow; i++) {
		const struct profile_slow_call *call = &spans->rows.slow[i];

		if (call->from_ns + call->length_ns > since->asked_ns)
			add_slow(&since->rows, call);
	}
}

void spans_since_release(struct spans_since *since)
{
	release_rows(&since->rows);
}

void longest_calls_look(struct longest_calls *longest, const struct profile_spans *rows)
{
	for (size_t i = 0; i < rows->nr_sums; i++) {
		const struct profile_span_sum *sum = &rows->sums[i];
		uint32_t number = rows->rows[sum->span].number;

		while (longest->nr <= number) {
			ARRAY_GROW(longest->at, longest->nr, longest->cap);
			longest->at[longest->nr++] = (struct long_call){0};
		}
		if (sum->longest_ns > longest->at[number].length_ns)
			longest->at[number] = (struct long_call){
				sum->longest_ns, sum->longest_from_ns + sum->longest_ns};
	}
}

bool longest_calls_take(struct longest_calls *longest, uint32_t number, struct long_call *call)
{
	if (number >= longest->nr || !longest->at[number].length_ns)
		return false;
	*call = longest->at[number];
	longest->at[number] = (struct long_call){0};
	return true;
}

void longest_calls_release(struct longest_calls *longest)
{
	free(longest->at);
	*longest = (struct longest_calls){0};
}

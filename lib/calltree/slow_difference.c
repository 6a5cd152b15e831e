// SPDX-License-Identifier: GPL-2.0-or-later
#include "calltree/slow_difference.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "calltree/blame.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/student.h"
#include "calltree/tally.h"
#include "calltree/wait_function.h"
#include "profile/slow_calls.h"

/* The time of one sample in one row. */
struct part {
	enum slow_side side;
	enum slow_kind kind;
	uint32_t label;
	struct waited waited;
	uint64_t call; /* its number within the side */
	double ns;
};

struct gathering {
	const struct selection *selection;
	const struct waited_objects *objects; /* borrowed, as the selection */
	uint32_t *wait_functions;	      /* owned, as all that follow; by stack */
	/* By thread: the call of others that it was last seen in, and when it was first. */
	uint64_t *call_of, *began_ns;
	uint64_t nr_others;
	struct part *parts;
	size_t nr, cap;
};

static uint64_t call_of_other(struct gathering *gathering, const struct sample *sample)
{
	uint32_t thread = sample->thread.v;

	if (!gathering->call_of[thread] || sample->time_ns - gathering->began_ns[thread] >=
						   gathering->selection->slow.calls->least_ns) {
		gathering->call_of[thread] = ++gathering->nr_others;
		gathering->began_ns[thread] = sample->time_ns;
	}
	return gathering->call_of[thread];
}

static uint32_t leaf_label(const struct expansion *expansion, const struct sample *sample)
{
	if (sample->stack.v == STACK_EMPTY.v)
		return LABEL_OF_NONE;
	return expansion_innermost(expansion,
				   stack_trie_frame(expansion->profile->stacks, sample->stack))
		->label;
}

static void add_part(struct gathering *gathering, const struct part *part)
{
	if (part->ns <= 0)
		return;
	ARRAY_GROW(gathering->parts, gathering->nr, gathering->cap);
	gathering->parts[gathering->nr++] = *part;
}

/* Its own CPU time: views share that with samples around it, which may be in other calls. */
static double cpu_ns(const struct sample *sample)
{
	return (double)(sample->recorded_cpu_ns ? sample->recorded_cpu_ns : sample->cpu_ns);
}

static const struct waited no_object = {.kind = WAITED_CALL, .number = UINT32_MAX};

/* Waits for one object belong together: also with different owners, and in different calls. */
static struct waited object_of(const struct gathering *gathering, const struct sample *sample)
{
	const struct observation observation = {.sample = *sample, .weight = sample->blocked_ns};
	struct waited waited;

	if (!sample->wait)
		return no_object;
	waited = waited_of(gathering->objects, &observation);
	return waited.kind == WAITED_CALL ? no_object : waited;
}

static void add_sample(struct gathering *gathering, const struct sample *sample, size_t slow_call)
{
	const struct expansion *expansion = gathering->selection->expansion;
	bool is_slow = slow_call != SLOW_CALL_NONE;
	struct part part = {.side = is_slow ? SLOW_CALLS : OTHER_CALLS,
			    .call = is_slow ? slow_call : call_of_other(gathering, sample),
			    .waited = no_object};

	part.kind = SLOW_ON_CPU;
	part.label = leaf_label(expansion, sample);
	part.ns = cpu_ns(sample);
	add_part(gathering, &part);
	part.kind = SLOW_BLOCKED;
	part.label = gathering->wait_functions[sample->stack.v];
	part.waited = object_of(gathering, sample);
	part.ns = (double)sample->blocked_ns;
	add_part(gathering, &part);
	part.kind = SLOW_FOR_CPU;
	part.label = LABEL_OF_NONE;
	part.waited = no_object;
	part.ns = (double)sample->runq_ns;
	add_part(gathering, &part);
}

static void gather(struct gathering *gathering)
{
	const struct profile *profile = gathering->selection->expansion->profile;
	struct selection_walk walk;
	struct sample sample;

	gathering->wait_functions = wait_functions_of_stacks(gathering->selection->expansion);
	gathering->call_of = xcalloc(profile->nr_threads, sizeof(*gathering->call_of));
	gathering->began_ns = xcalloc(profile->nr_threads, sizeof(*gathering->began_ns));
	selection_walk_init(&walk, gathering->selection);
	while (selection_walk_next(&walk, &sample)) {
		if (sample.stack.v != STACK_EMPTY.v)
			add_sample(gathering, &sample, walk.slow_call);
	}
	selection_walk_release(&walk);
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_waited(const struct waited *a, const struct waited *b)
{
	return a->kind != b->kind ? compare(a->kind, b->kind) : compare(a->number, b->number);
}

/* By row, then by call. */
static int compare_parts(const void *left, const void *right)
{
	const struct part *a = left, *b = right;
	int order = compare(a->kind, b->kind);

	order = order ? order : compare(a->label, b->label);
	order = order ? order : compare_waited(&a->waited, &b->waited);
	order = order ? order : compare(a->side, b->side);
	return order ? order : compare(a->call, b->call);
}

/* By kind, then by call. */
static int compare_kinds(const void *left, const void *right)
{
	const struct part *a = left, *b = right;
	int order = compare(a->kind, b->kind);

	order = order ? order : compare(a->side, b->side);
	return order ? order : compare(a->call, b->call);
}

/* Sums over the calls of a side: of the time in all of them, and its square. */
struct side {
	double *by_call; /* owned */
	uint64_t nr_calls;
	double sum, square, nr;
};

static void sum_side(struct side *side, const struct gathering *gathering, enum slow_side which,
		     uint64_t nr_calls)
{
	*side = (struct side){.by_call = xcalloc(nr_calls + 1, sizeof(*side->by_call)),
			      .nr_calls = nr_calls + 1};
	for (size_t i = 0; i < gathering->nr; i++) {
		const struct part *part = &gathering->parts[i];

		if (part->side == which)
			side->by_call[part->call] += part->ns;
	}
	for (uint64_t i = 0; i < side->nr_calls; i++) {
		side->sum += side->by_call[i];
		side->square += side->by_call[i] * side->by_call[i];
		side->nr += side->by_call[i] > 0;
	}
}

/* The time of a row in the calls of a side: its sum, that of squares, and of products with all. */
struct row_sums {
	double sum, square, product;
};

/* The variance of a quotient of sums over calls, with the correction that Wilson's interval has. */
static struct slow_share share_of(const struct row_sums *row, const struct side *side,
				  double call_ns)
{
	struct slow_share share = {.half = 1};
	double variance, t, n = side->nr;

	if (side->sum <= 0)
		return share;
	share.share = row->sum / side->sum;
	share.call_ns = share.share * call_ns;
	if (n < 2)
		return share;
	variance = row->square - 2 * share.share * row->product +
		   share.share * share.share * side->square;
	variance = fmax(variance, 0) / (side->sum * side->sum) * n / (n - 1);
	t = student_quantile(0.05, n - 1);
	share.half = fmin(t * sqrt(variance + t * t / (4 * n * n)) / (1 + t * t / n), 1);
	return share;
}

/* Sums up parts [first, end), which are of one row and sorted by side and call. */
static void sum_row(const struct part *parts, size_t first, size_t end, const struct side *sides,
		    struct row_sums sums[SLOW_SIDES])
{
	while (first < end) {
		const struct part *part = &parts[first];
		struct row_sums *sum = &sums[part->side];
		double ns = 0;

		for (; first < end && parts[first].side == part->side &&
		       parts[first].call == part->call;
		     first++)
			ns += parts[first].ns;
		sum->sum += ns;
		sum->square += ns * ns;
		sum->product += ns * sides[part->side].by_call[part->call];
	}
}

static bool is_sure(const struct slow_row *row)
{
	const struct slow_share *slow = &row->shares[SLOW_CALLS];
	const struct slow_share *other = &row->shares[OTHER_CALLS];

	return fabs(slow->share - other->share) > hypot(slow->half, other->half);
}

static void add_rows(struct slow_difference *difference, struct gathering *gathering,
		     const struct side *sides, bool are_totals)
{
	int (*order)(const void *, const void *) = are_totals ? compare_kinds : compare_parts;
	struct part *parts = gathering->parts;
	size_t first = 0;

	if (parts)
		qsort(parts, gathering->nr, sizeof(*parts), order);
	while (first < gathering->nr) {
		struct row_sums sums[SLOW_SIDES] = {{0}};
		struct slow_row row = {.kind = parts[first].kind,
				       .is_total = are_totals,
				       .label = are_totals ? LABEL_OF_NONE : parts[first].label,
				       .waited = are_totals ? no_object : parts[first].waited};
		size_t end = first;

		while (end < gathering->nr && parts[end].kind == row.kind &&
		       (are_totals || (parts[end].label == row.label &&
				       compare_waited(&parts[end].waited, &row.waited) == 0)))
			end++;
		sum_row(parts, first, end, sides, sums);
		for (int i = 0; i < SLOW_SIDES; i++)
			row.shares[i] = share_of(&sums[i], &sides[i], difference->sums[i].call_ns);
		row.is_sure = is_sure(&row);
		first = end;
		if (!are_totals && row.kind == SLOW_FOR_CPU)
			continue; /* the total says it all */
		difference->rows[difference->nr++] = row;
	}
}

static double more_ns(const struct slow_row *row)
{
	return row->shares[SLOW_CALLS].call_ns - row->shares[OTHER_CALLS].call_ns;
}

static double more_of_kind(const struct slow_difference *difference, enum slow_kind kind)
{
	for (size_t i = 0; i < difference->nr; i++) {
		if (difference->rows[i].kind == kind && difference->rows[i].is_total)
			return more_ns(&difference->rows[i]);
	}
	return 0;
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct slow_row *a = left, *b = right;
	const double *more = context; /* by kind */

	if (a->kind != b->kind)
		return more[a->kind] != more[b->kind] ? (more[a->kind] < more[b->kind] ? 1 : -1)
						      : compare(a->kind, b->kind);
	if (a->is_total != b->is_total)
		return a->is_total ? -1 : 1;
	if (more_ns(a) != more_ns(b))
		return more_ns(a) < more_ns(b) ? 1 : -1;
	return compare(a->label, b->label) ? compare(a->label, b->label)
					   : compare_waited(&a->waited, &b->waited);
}

static void sort_rows(struct slow_difference *difference)
{
	double more[SLOW_KIND_COUNT];
	struct slow_row *rows = xcalloc(difference->nr + 1, sizeof(*rows));

	for (int i = 0; i < SLOW_KIND_COUNT; i++)
		more[i] = more_of_kind(difference, (enum slow_kind)i);
	qsort_r(difference->rows, difference->nr, sizeof(*rows), compare_rows, more);
	free(rows);
}

static void sum_lengths(struct slow_difference *difference)
{
	const struct slow_calls *slow = difference->selection->slow.calls;
	struct slow_sums *sums = difference->sums;
	uint64_t nr_others = slow->nr_all - min_u64(slow->nr_all, slow->nr_known);
	uint64_t others_ns = slow->all_ns - min_u64(slow->all_ns, slow->known_ns);

	sums[SLOW_CALLS].nr_calls = slow->nr_known;
	sums[SLOW_CALLS].call_ns = (double)slow->known_ns / (double)slow->nr_known;
	sums[OTHER_CALLS].nr_calls = nr_others;
	sums[OTHER_CALLS].call_ns = nr_others ? (double)others_ns / (double)nr_others : 0;
}

struct slow_difference *slow_difference_new(const struct selection *selection)
{
	struct slow_difference *difference = xcalloc(1, sizeof(*difference));
	struct gathering gathering = {.selection = selection, .objects = &difference->objects};
	struct side sides[SLOW_SIDES];

	difference->selection = selection;
	difference->objects.locks = blame_new(selection->expansion, true);
	difference->objects.descriptors = blame_new(selection->expansion, false);
	sum_lengths(difference);
	gather(&gathering);
	sum_side(&sides[SLOW_CALLS], &gathering, SLOW_CALLS, selection->slow.calls->nr_known);
	sum_side(&sides[OTHER_CALLS], &gathering, OTHER_CALLS, gathering.nr_others);
	for (size_t i = 0; i < gathering.nr; i++)
		difference->sums[gathering.parts[i].side].nr_samples++;
	difference->rows = xcalloc(gathering.nr + SLOW_KIND_COUNT, sizeof(*difference->rows));
	add_rows(difference, &gathering, sides, true);
	add_rows(difference, &gathering, sides, false);
	for (int i = 0; i < SLOW_SIDES; i++) {
		difference->sums[i].nr_sampled = (uint64_t)sides[i].nr;
		free(sides[i].by_call);
	}
	sort_rows(difference);
	free(gathering.wait_functions);
	free(gathering.call_of);
	free(gathering.began_ns);
	free(gathering.parts);
	return difference;
}

void slow_difference_free(struct slow_difference *difference)
{
	if (!difference)
		return;
	blame_free(difference->objects.locks);
	blame_free(difference->objects.descriptors);
	free(difference->rows);
	free(difference);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Time per counted call. */
#include "calltree/per_call.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "calltree/counts.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"

bool per_call_of_total(enum metric metric, const struct tally *total, const struct tally *called,
		       uint64_t calls, struct per_call *per_call)
{
	double half = tally_interval(called, total) / 100;

	if (calls == 0 || total->samples == 0 || !metric_is_time(metric) ||
	    metric == METRIC_ELAPSED)
		return false;
	per_call->ns = (double)called->weight / (double)calls;
	per_call->ci_ns = half * (double)total->weight / (double)calls;
	return true;
}

bool per_call_of(const struct weights *weights, const struct tally *called, uint64_t calls,
		 struct per_call *per_call)
{
	return per_call_of_total(weights->metric, &weights->total, called, calls, per_call);
}

#define NO_KEY UINT32_MAX

/* The time in which all counted things were counted in one process. */
struct coverage {
	uint64_t from_ns, to_ns;
};

/* A pass over the samples. */
struct pass {
	const struct weights *weights;
	const struct counts *counts;
	struct tally *uncovered;    /* by key: the result */
	struct coverage *coverages; /* by process */
	uint64_t *previous_ns;	    /* by thread: the end of its last sample */
	uint32_t *line_keys;	    /* by place: the key of its line, or NO_KEY */
	uint32_t *seen_in;	    /* by key: the last sample that it was seen in */
	uint32_t nr_samples;
};

static size_t nr_counted(const struct counts *counts)
{
	size_t nr = 0;

	for (size_t i = 0; i < counts->selection->expansion->nr_labels; i++)
		nr += counts->functions[i].counted;
	for (size_t i = 0; i < counts->nr_lines; i++)
		nr += counts->lines[i].has_calls;
	return nr;
}

/* Most samples are covered whatever their stack: only the stacks of the others are examined. */
static void find_coverages(struct pass *pass)
{
	const struct counts *counts = pass->counts;
	size_t nr = counts->selection->expansion->profile->nr_processes;
	size_t all = nr_counted(counts);
	cleanup_free size_t *nr_windows = xcalloc(nr, sizeof(*nr_windows));

	pass->coverages = xcalloc(nr, sizeof(*pass->coverages));
	for (size_t i = 0; i < nr; i++)
		pass->coverages[i].to_ns = UINT64_MAX;
	for (size_t i = 0; i < counts->nr_windows; i++) {
		const struct count_window *window = &counts->windows[i];
		struct coverage *coverage = &pass->coverages[window->process];

		nr_windows[window->process]++;
		coverage->from_ns = max_u64(coverage->from_ns, window->from_ns);
		coverage->to_ns = min_u64(coverage->to_ns, window->to_ns);
	}
	for (size_t i = 0; i < nr; i++)
		if (nr_windows[i] < all)
			pass->coverages[i] = (struct coverage){.from_ns = UINT64_MAX};
}

static struct coverage coverage_of(const struct pass *pass, uint32_t process)
{
	uint32_t owner = pass->counts->owners[process];

	if (owner == PROCESS_NONE)
		return (struct coverage){.from_ns = UINT64_MAX};
	return pass->coverages[owner];
}

/* The share of begin_ns … end_ns that is outside of the window of a key. */
static double share_outside(const struct pass *pass, uint32_t process, uint32_t key,
			    uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t from_ns, to_ns;

	if (!counts_find_window(pass->counts, process, key, &from_ns, &to_ns))
		return 1;
	if (begin_ns == end_ns)
		return begin_ns < from_ns || begin_ns > to_ns;
	from_ns = max_u64(from_ns, begin_ns);
	to_ns = min_u64(to_ns, end_ns);
	if (to_ns <= from_ns)
		return 1;
	return 1 - (double)(to_ns - from_ns) / (double)(end_ns - begin_ns);
}

static void add_share(const struct pass *pass, struct tally *tally, const struct sample *sample,
		      double share)
{
	struct tally whole = {0}, part;

	tally_add_sample(&whole, sample, pass->weights->metric);
	part = tally_scaled(&whole, share);
	tally_add(tally, &part);
}

/* Add the part of a sample outside a key's window, once even if the key recurs in the stack. */
static void look_at_key(struct pass *pass, const struct sample *sample, uint64_t begin_ns,
			uint32_t key)
{
	const struct profile *profile = pass->counts->selection->expansion->profile;
	uint32_t process = profile->threads[sample->thread.v].process;
	double share;

	if (pass->seen_in[key] == pass->nr_samples)
		return;
	pass->seen_in[key] = pass->nr_samples;
	share = share_outside(pass, process, key, begin_ns, sample->time_ns);
	if (share > 0)
		add_share(pass, &pass->uncovered[key], sample, share);
}

static void look_at_stack(struct pass *pass, const struct sample *sample, uint64_t begin_ns)
{
	const struct expansion *expansion = pass->counts->selection->expansion;
	const struct stack_trie *trie = expansion->profile->stacks;

	for (struct stack_id at = sample->stack; at.v != STACK_EMPTY.v;
	     at = stack_trie_parent(trie, at)) {
		struct frame_levels frame = expansion->frames[stack_trie_frame(trie, at).v];
		const struct level *levels = &expansion->levels[frame.first];

		if (pass->counts->functions[levels[0].label].counted)
			look_at_key(pass, sample, begin_ns, levels[0].label);
		for (uint32_t i = 0; i < frame.nr; i++)
			if (pass->line_keys[levels[i].place] != NO_KEY)
				look_at_key(pass, sample, begin_ns,
					    pass->line_keys[levels[i].place]);
	}
}

static void look_at_samples(struct pass *pass)
{
	const struct profile *profile = pass->counts->selection->expansion->profile;
	struct selection_walk walk;
	struct sample sample;

	selection_walk_init(&walk, pass->counts->selection);
	while (selection_walk_next(&walk, &sample)) {
		uint64_t *previous_ns = &pass->previous_ns[sample.thread.v];
		uint64_t begin_ns = min_u64(*previous_ns, sample.time_ns);
		struct coverage coverage =
			coverage_of(pass, profile->threads[sample.thread.v].process);

		*previous_ns = sample.time_ns;
		pass->nr_samples++;
		if (begin_ns < coverage.from_ns || sample.time_ns > coverage.to_ns)
			look_at_stack(pass, &sample, begin_ns);
	}
	selection_walk_release(&walk);
}

/* By place: the key of the calls that are written on its line. */
static void find_line_keys(struct pass *pass)
{
	const struct expansion *expansion = pass->counts->selection->expansion;

	pass->line_keys = xmalloc(expansion->nr_places * sizeof(*pass->line_keys));
	for (size_t i = 0; i < expansion->nr_places; i++) {
		const struct place *place = &expansion->places[i];
		const struct count_line *line =
			counts_find_line(pass->counts, place->file, place->line);

		pass->line_keys[i] =
			line && line->has_calls ? counts_line_key(pass->counts, line) : NO_KEY;
	}
}

struct tally *per_call_uncovered(const struct weights *weights)
{
	const struct profile *profile = weights->selection->expansion->profile;
	size_t nr_keys = counts_nr_keys(weights->counts);
	struct pass pass = {.weights = weights, .counts = weights->counts};

	if (weights->counts->state != COUNTS_KNOWN)
		return NULL;
	pass.uncovered = xcalloc(nr_keys, sizeof(*pass.uncovered));
	pass.seen_in = xcalloc(nr_keys, sizeof(*pass.seen_in));
	pass.previous_ns = xcalloc(profile->nr_threads, sizeof(*pass.previous_ns));
	for (size_t i = 0; i < profile->nr_threads; i++)
		pass.previous_ns[i] = profile->threads[i].start_ns;
	find_line_keys(&pass);
	find_coverages(&pass);
	look_at_samples(&pass);
	free(pass.coverages);
	free(pass.line_keys);
	free(pass.seen_in);
	free(pass.previous_ns);
	return pass.uncovered;
}

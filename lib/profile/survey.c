// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums over a recording: stack quality and time by module. */
#include "profile/survey.h"

#include <stdlib.h>

#include "base/alloc.h"

static void add(struct survey_sum *sum, const struct sample *sample)
{
	sum->cpu_ns += sample->cpu_ns;
	sum->runq_ns += sample->runq_ns;
	sum->blocked_ns += sample->blocked_ns;
	sum->samples += sample->nr;
}

static struct module_id module_of(const struct profile *profile, struct stack_id stack)
{
	if (stack.v == STACK_EMPTY.v)
		return MODULE_UNKNOWN;
	return module_table_first(
		profile->modules,
		profile->frames[stack_trie_frame(profile->stacks, stack).v].where.module);
}

/* The module of each stack's outermost frame. Callers come first: one pass. */
static struct module_id *root_modules(const struct profile *profile)
{
	uint32_t nr = stack_trie_nr(profile->stacks);
	struct module_id *roots = xcalloc(nr, sizeof(*roots));

	for (uint32_t i = 1; i < nr; i++) {
		struct stack_id id = {i};
		struct stack_id parent = stack_trie_parent(profile->stacks, id);

		roots[i] = parent.v == STACK_EMPTY.v ? module_of(profile, id) : roots[parent.v];
	}
	return roots;
}

static int by_weight(const void *left, const void *right)
{
	const struct survey_sum *a = &((const struct survey_end *)left)->sum;
	const struct survey_sum *b = &((const struct survey_end *)right)->sum;

	if (a->cpu_ns != b->cpu_ns)
		return a->cpu_ns < b->cpu_ns ? 1 : -1;
	if (a->blocked_ns != b->blocked_ns)
		return a->blocked_ns < b->blocked_ns ? 1 : -1;
	return a->samples < b->samples ? 1 : -(a->samples > b->samples);
}

/* The non-empty cells of the matrix of reasons and modules. */
static void collect_ends(struct survey *survey, const struct survey_sum *matrix,
			 uint32_t nr_modules)
{
	size_t cap_ends = 0;

	for (int end = 0; end < STACK_END_COUNT; end++) {
		for (uint32_t i = 0; end != STACK_END_ROOT && i < nr_modules; i++) {
			const struct survey_sum *sum = &matrix[(size_t)end * nr_modules + i];

			if (!sum->samples)
				continue;
			ARRAY_GROW(survey->ends, survey->nr_ends, cap_ends);
			survey->ends[survey->nr_ends++] = (struct survey_end){
				.end = (enum stack_end)end, .module = {i}, .sum = *sum};
		}
	}
	if (survey->nr_ends)
		qsort(survey->ends, survey->nr_ends, sizeof(*survey->ends), by_weight);
}

struct survey *survey_new(const struct profile *profile)
{
	uint32_t nr_modules = module_table_nr(profile->modules);
	cleanup_free struct survey_sum *matrix =
		xcalloc((size_t)STACK_END_COUNT * nr_modules, sizeof(*matrix));
	cleanup_free struct module_id *roots = root_modules(profile);
	struct survey *survey = xcalloc(1, sizeof(*survey));

	survey->modules = xcalloc(nr_modules, sizeof(*survey->modules));
	for (size_t i = 0; i < profile->nr_samples; i++) {
		const struct sample *sample = &profile->samples[i];

		add(&survey->total, sample);
		if (sample->kind == SAMPLE_UNATTRIBUTED) {
			add(&survey->unattributed, sample);
			continue;
		}
		add(&survey->modules[module_of(profile, sample->stack).v], sample);
		add(&matrix[(size_t)sample->end * nr_modules + roots[sample->stack.v].v], sample);
		if (stack_end_is_complete(sample->end))
			add(&survey->complete, sample);
		if (sample->end == STACK_END_OTHER_STACK)
			add(&survey->other_stack, sample);
		if (sample->end == STACK_END_UNPROVED || sample->end == STACK_END_NO_MAPPING)
			add(&survey->unproved, sample);
	}
	collect_ends(survey, matrix, nr_modules);
	return survey;
}

void survey_free(struct survey *survey)
{
	if (!survey)
		return;
	free(survey->ends);
	free(survey->modules);
	free(survey);
}

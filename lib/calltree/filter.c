// SPDX-License-Identifier: GPL-2.0-or-later
/* Selects the samples that pass the filters of a view. */
#include "calltree/filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "calltree/elapsed.h"
#include "calltree/expand.h"
#include "calltree/label_filter.h"
#include "calltree/patterns_priv.h"
#include "calltree/reshape_priv.h"
#include "profile/heap_estimate.h"
#include "profile/slow_calls.h"
#include "profile/timelines.h"

/* All four lists, compiled. */
struct compiled_filter {
	struct patterns threads, processes, modules, functions;
};

static void compiled_filter_release(struct compiled_filter *compiled)
{
	patterns_release(&compiled->threads);
	patterns_release(&compiled->processes);
	patterns_release(&compiled->modules);
	patterns_release(&compiled->functions);
}

static int compile(struct patterns *out, const struct pattern_list *list, bool ids, struct err *err)
{
	return patterns_compile(out, list->texts, list->nr, ids, err);
}

static int compile_filter(struct compiled_filter *compiled, const struct filter *filter,
			  struct err *err)
{
	int status = compile(&compiled->threads, &filter->threads, true, err);

	if (status == 0)
		status = compile(&compiled->processes, &filter->processes, true, err);
	if (status == 0)
		status = compile(&compiled->modules, &filter->modules, false, err);
	if (status == 0)
		status = compile(&compiled->functions, &filter->functions, false, err);
	return status;
}

static bool process_passes(const struct profile *profile, const struct patterns *patterns,
			   const struct profile_process *process)
{
	return patterns->nr == 0 || patterns_match_id(patterns, process->pid) ||
	       patterns_match_text(patterns, profile_str(profile, process->name)) ||
	       patterns_match_text(patterns, profile_str(profile, process->command));
}

static bool *select_processes(const struct profile *profile, const struct compiled_filter *compiled)
{
	bool *processes = xcalloc(profile->nr_processes, sizeof(*processes));

	for (size_t i = 0; i < profile->nr_processes; i++)
		processes[i] =
			process_passes(profile, &compiled->processes, &profile->processes[i]);
	return processes;
}

static bool *select_threads(const struct profile *profile, const struct compiled_filter *compiled,
			    const bool *processes)
{
	bool *threads = xcalloc(profile->nr_threads, sizeof(*threads));

	for (size_t i = 0; i < profile->nr_threads; i++) {
		const struct profile_thread *thread = &profile->threads[i];
		const struct patterns *patterns = &compiled->threads;

		threads[i] = (patterns->nr == 0 || patterns_match_id(patterns, thread->tid) ||
			      patterns_match_text(patterns, profile_str(profile, thread->name))) &&
			     processes[thread->process];
	}
	return threads;
}

/* Set, by stack, whether it has one of the labels. Parents come first. */
static void add_stacks_with(const struct expansion *expansion, const bool *labels, bool *stacks)
{
	const struct stack_trie *trie = expansion->profile->stacks;

	stacks[STACK_EMPTY.v] = false;
	for (uint32_t id = 1; id < stack_trie_nr(trie); id++) {
		struct stack_id stack = {id};
		struct frame_levels frame = expansion->frames[stack_trie_frame(trie, stack).v];

		stacks[id] = stacks[stack_trie_parent(trie, stack).v];
		for (uint32_t i = 0; i < frame.nr && !stacks[id]; i++)
			stacks[id] = labels[expansion->levels[frame.first + i].label];
	}
}

static void select_by_function(struct selection *selection, const struct patterns *patterns)
{
	selection->functions = patterns_match_labels(patterns, selection->expansion);
	add_stacks_with(selection->expansion, selection->functions, selection->stacks);
}

/* Drop the stacks whose leaf is in none of the modules. */
static void select_by_module(struct selection *selection, const struct patterns *patterns)
{
	const struct profile *profile = selection->expansion->profile;
	const struct stack_trie *trie = profile->stacks;
	uint32_t nr_modules = module_table_nr(profile->modules);
	cleanup_free bool *modules = xcalloc(nr_modules, sizeof(*modules));

	for (uint32_t i = 0; i < nr_modules; i++) {
		struct module_id id = {i};

		modules[i] =
			patterns_match_text(patterns, module_table_get(profile->modules, id)->path);
	}
	selection->stacks[STACK_EMPTY.v] = false;
	for (uint32_t id = 1; id < stack_trie_nr(trie); id++) {
		struct frame_id frame = stack_trie_frame(trie, (struct stack_id){id});

		if (!modules[profile->frames[frame.v].where.module.v])
			selection->stacks[id] = false;
	}
}

static void select_stacks(struct selection *selection, const struct compiled_filter *compiled)
{
	uint32_t nr_stacks = stack_trie_nr(selection->expansion->profile->stacks);

	selection->stacks = xmalloc(nr_stacks * sizeof(*selection->stacks));
	memset(selection->stacks, true, nr_stacks * sizeof(*selection->stacks));
	if (compiled->functions.nr > 0)
		select_by_function(selection, &compiled->functions);
	if (compiled->modules.nr > 0)
		select_by_module(selection, &compiled->modules);
}

static bool is_called(const struct profile *profile, const struct profile_mark *mark,
		      const struct mark_name *name)
{
	const char *text = profile_str(profile, mark->text);

	return strlen(text) == name->nr_bytes && memcmp(text, name->text, name->nr_bytes) == 0;
}

/* A search for a mark in the runs of a profile. */
struct mark_search {
	const struct profile *profile;
	const struct timelines *timelines;
	const struct mark_name *name;
	bool is_anywhere;
};

/* Find the first such mark in a run at `from_ns` or later; false: there is none. */
static bool find_mark(struct mark_search *search, uint32_t run, uint64_t from_ns, uint64_t *time_ns)
{
	const struct timelines *timelines = search->timelines;
	const struct profile_mark *first = NULL;

	for (size_t i = timelines->first_marks[run]; i < timelines->first_marks[run + 1]; i++) {
		const struct profile_mark *mark = &search->profile->marks[i];

		if (!is_called(search->profile, mark, search->name))
			continue;
		search->is_anywhere = true;
		if (mark->time_ns >= from_ns && (!first || mark->time_ns < first->time_ns))
			first = mark;
	}
	if (first)
		*time_ns = first->time_ns;
	return first != NULL;
}

static int refuse_mark(const struct mark_search *search, struct err *err)
{
	err_set(err, ERR_NOT_FOUND, "no mark '%.*s' in the recording%s",
		(int)search->name->nr_bytes, search->name->text,
		search->is_anywhere ? " after the start of the time range" : "");
	err_hint(err, "'profc info' lists the marks of a recording");
	return ERR_NOT_FOUND;
}

static const struct time_range nothing = {.from_ns = UINT64_MAX};

/* Move one end of each run's range to the mark there. ERR_NOT_FOUND if no run has it. */
static int move_to_marks(struct selection *selection, const struct mark_name *name, bool is_end,
			 struct err *err)
{
	struct mark_search search = {.profile = selection->expansion->profile,
				     .timelines = selection->timelines,
				     .name = name};
	bool is_found = false;

	for (uint32_t run = 0; name->nr_bytes && run < selection->timelines->nr; run++) {
		struct time_range *range = &selection->ranges[run];

		if (range->to_ns < range->from_ns)
			continue;
		if (find_mark(&search, run, is_end ? range->from_ns + 1 : 0,
			      is_end ? &range->to_ns : &range->from_ns))
			is_found = true;
		else
			*range = nothing;
	}
	return name->nr_bytes && !is_found ? refuse_mark(&search, err) : 0;
}

static int find_trigger(const struct selection *selection, uint64_t *trigger_ns, struct err *err)
{
	*trigger_ns = profile_counter(selection->expansion->profile, "trigger_ns");
	if (*trigger_ns && selection->timelines->nr == 1)
		return 0;
	err_set(err, ERR_NOT_FOUND,
		"times before a trigger, such as -10s.., are of one trigger: %s",
		*trigger_ns ? "this is a merged recording" : "the recording has none");
	err_hint(err, "files that a flight recorder writes have one: see --keep of profc record");
	return ERR_NOT_FOUND;
}

/* The same range for all runs, but for marks. */
static int find_range(const struct selection *selection, const struct filter *filter,
		      struct time_range *range, struct err *err)
{
	bool is_to_end = (!filter->to_ns && !filter->to_before_trigger) || filter->to_mark.nr_bytes;
	uint64_t trigger_ns = 0;
	int status = 0;

	if (filter->from_before_trigger || filter->to_before_trigger)
		status = find_trigger(selection, &trigger_ns, err);
	if (status)
		return status;
	*range = (struct time_range){.from_ns = filter->from_ns,
				     .to_ns = is_to_end ? UINT64_MAX : filter->to_ns};
	if (filter->from_before_trigger)
		range->from_ns = trigger_ns - min_u64(trigger_ns, filter->from_ns);
	if (!filter->to_before_trigger)
		return 0;
	if (filter->to_ns >= trigger_ns)
		return err_set(err, ERR_NOT_FOUND,
			       "the recording begins only %.3f s before its trigger",
			       (double)trigger_ns / (double)NS_PER_SEC);
	range->to_ns = trigger_ns - filter->to_ns;
	return 0;
}

static int find_ranges(struct selection *selection, const struct filter *filter, struct err *err)
{
	size_t nr = selection->timelines->nr;
	struct time_range common;
	bool any = false;
	int status = find_range(selection, filter, &common, err);

	if (status)
		return status;
	selection->ranges = xcalloc(nr, sizeof(*selection->ranges));
	for (size_t i = 0; i < nr; i++)
		selection->ranges[i] = common;
	status = move_to_marks(selection, &filter->from_mark, false, err);
	if (status == 0)
		status = move_to_marks(selection, &filter->to_mark, true, err);
	selection->from_ns = UINT64_MAX;
	for (size_t i = 0; i < nr; i++) {
		const struct time_range *range = &selection->ranges[i];

		if (range->to_ns <= range->from_ns)
			continue;
		any = true;
		selection->from_ns = min_u64(selection->from_ns, range->from_ns);
		selection->to_ns = max_u64(selection->to_ns, range->to_ns);
	}
	if (status == 0 && !any)
		return err_set(err, ERR_INVALID, "the time range ends before it begins");
	return status;
}

uint64_t selection_elapsed_ns(const struct selection *selection)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < selection->timelines->nr; i++) {
		const struct timeline *run = &selection->timelines->rows[i];
		uint64_t from_ns = max_u64(selection->ranges[i].from_ns, run->begin_ns);
		uint64_t to_ns = min_u64(selection->ranges[i].to_ns, run->end_ns);

		sum_ns += to_ns > from_ns ? to_ns - from_ns : 0;
	}
	return sum_ns;
}

const struct time_range *selection_range(const struct selection *selection, struct thread_id thread)
{
	uint32_t process = selection->expansion->profile->threads[thread.v].process;

	return &selection->ranges[selection->timelines->of_process[process]];
}

int filter_fits(const struct filter *filter, enum metric metric, struct err *err)
{
	if (filter->slow.text && (metric_is_counter(metric) || metric == METRIC_ELAPSED ||
				  !metric_is_of_samples(metric)))
		return err_set(err, ERR_INVALID,
			       "--slow needs a metric of time: cpu, wall, blocked or runq");
	if (filter->heap.at != FILTER_AT_END && metric != METRIC_LIVE)
		return err_set(err, ERR_INVALID, "--at needs --metric live");
	if (filter->heap.temporary_ns && metric != METRIC_TEMPORARY)
		return err_set(err, ERR_INVALID, "--temporary needs --metric temporary");
	if (filter->parallelism.is_given && metric != METRIC_ELAPSED)
		return err_set(err, ERR_INVALID, "--parallelism needs --metric elapsed");
	if (filter->labels.nr && !metric_is_of_samples(metric) && metric != METRIC_ELAPSED)
		return err_set(err, ERR_INVALID, "--label needs a metric of time");
	return 0;
}

static struct elapsed *elapsed_of(const struct selection *selection)
{
	const struct timelines *timelines = selection->timelines;
	cleanup_free struct timeline *ranges = xcalloc(timelines->nr, sizeof(*ranges));

	for (size_t i = 0; i < timelines->nr; i++)
		ranges[i] = (struct timeline){
			.begin_ns =
				max_u64(selection->ranges[i].from_ns, timelines->rows[i].begin_ns),
			.end_ns = min_u64(selection->ranges[i].to_ns, timelines->rows[i].end_ns)};
	return elapsed_new(selection->expansion->profile, timelines, ranges);
}

const struct elapsed *selection_elapsed(const struct selection *selection)
{
	if (!*selection->elapsed)
		*selection->elapsed = elapsed_of(selection);
	return *selection->elapsed;
}

static bool has_selected(const struct selection *selection, uint32_t run)
{
	const struct profile *profile = selection->expansion->profile;

	for (size_t i = 0; i < profile->nr_processes; i++) {
		if (selection->processes[i] && selection->timelines->of_process[i] == run)
			return true;
	}
	return false;
}

/* Each run has its own time: what is alive at one moment is known of one run alone. */
static int refuse_runs(const struct mark_name *name, size_t nr, struct err *err)
{
	err_set(err, ERR_INVALID,
		"%zu of the merged runs have the mark '%.*s', each at its own time", nr,
		(int)name->nr_bytes, name->text);
	err_hint(err, "look at one recording, or choose the processes of one run");
	return ERR_INVALID;
}

static int find_moment_of_mark(const struct selection *selection, const struct mark_name *name,
			       uint64_t *time_ns, struct err *err)
{
	struct mark_search search = {.profile = selection->expansion->profile,
				     .timelines = selection->timelines,
				     .name = name};
	size_t nr_found = 0, nr_selected = 0;
	uint64_t elsewhere_ns;

	for (uint32_t run = 0; run < selection->timelines->nr; run++) {
		bool is_selected = has_selected(selection, run);
		bool has_mark = find_mark(&search, run, 0, is_selected ? time_ns : &elsewhere_ns);

		nr_selected += is_selected;
		nr_found += is_selected && has_mark;
	}
	if (!search.is_anywhere)
		return refuse_mark(&search, err);
	if (nr_selected && !nr_found)
		return err_set(err, ERR_NOT_FOUND,
			       "no mark '%.*s' in the runs of the processes chosen",
			       (int)name->nr_bytes, name->text);
	return nr_found > 1 ? refuse_runs(name, nr_found, err) : 0;
}

static int find_moment(const struct selection *selection, const struct heap_filter *filter,
		       struct selected_heap *heap, struct err *err)
{
	const struct profile *profile = selection->expansion->profile;
	uint64_t discarded_ns = profile->heap.discard.time_ns;
	int status = 0;

	*heap = (struct selected_heap){
		.at_ns = filter->at == FILTER_AT_TIME ? filter->at_ns : HEAP_AT_END,
		.at_peak = filter->at == FILTER_AT_PEAK,
		.temporary_ns = filter->temporary_ns ? filter->temporary_ns : TEMPORARY_DEFAULT_NS};
	if (filter->at == FILTER_AT_MARK)
		status = find_moment_of_mark(selection, &filter->at_mark, &heap->at_ns, err);
	if (status == 0 && heap->at_ns < discarded_ns)
		return err_set(err, ERR_INVALID,
			       "--at is before %.3f s, when what was recorded of memory was "
			       "discarded",
			       (double)discarded_ns / (double)NS_PER_SEC);
	return status;
}

/* By label; NULL where there are no patterns. */
static int match_shape(const struct expansion *expansion, const struct pattern_list *list,
		       bool **labels, struct err *err)
{
	struct patterns patterns = {0};
	int status = compile(&patterns, list, false, err);

	if (status == 0)
		*labels = list->nr ? patterns_match_labels(&patterns, expansion) : NULL;
	patterns_release(&patterns);
	return status;
}

static bool is_any(const bool *labels, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (labels[i])
			return true;
	return false;
}

/* Replace the selection's stacks by those that the filter leaves. */
static int reshape(struct selection *selection, const struct shape_filter *filter, struct err *err)
{
	const struct expansion *from = selection->expansion;
	cleanup_free bool *focus = NULL, *hide = NULL;
	int status = match_shape(from, &filter->focus, &focus, err);

	if (status == 0)
		status = match_shape(from, &filter->hide, &hide, err);
	if (status || (!focus && !hide))
		return status;
	selection->reshaped = reshaped_new(from, focus, hide);
	selection->expansion = &selection->reshaped->expansion;
	selection->hides_nothing = hide && !is_any(hide, from->nr_labels);
	return 0;
}

static void select_all(struct selection *out, const struct compiled_filter *compiled,
		       const struct filter *filter)
{
	const struct profile *profile = out->expansion->profile;

	out->processes = select_processes(profile, compiled);
	out->threads = select_threads(profile, compiled, out->processes);
	select_stacks(out, compiled);
	if (filter->shape.focus.nr)
		out->stacks[STACK_EMPTY.v] = false;
	out->whole_lives = filter->labels.nr == 0 && filter->modules.nr == 0 &&
			   filter->functions.nr == 0 && filter->shape.focus.nr == 0 &&
			   !filter->slow.text;
	out->everything = filter->threads.nr == 0 && filter->processes.nr == 0 &&
			  filter->labels.nr == 0 && !filter->parallelism.is_given &&
			  !filter->slow.text;
	out->all_stacks = filter->modules.nr == 0 && filter->functions.nr == 0 &&
			  filter->labels.nr == 0 && !out->reshaped;
	out->whole_processes = filter->threads.nr == 0 && filter->modules.nr == 0 &&
			       filter->labels.nr == 0 && !filter->slow.text && !out->reshaped;
}

/* By label: is it the function? */
static bool *match_function(const struct expansion *expansion, const char *function)
{
	const struct profile *profile = expansion->profile;
	bool *labels = xcalloc(expansion->nr_labels + 1, sizeof(*labels));

	for (size_t i = 0; i < expansion->nr_labels; i++) {
		const struct label *label = &expansion->labels[i];

		labels[i] = label->kind == LABEL_FUNCTION &&
			    strcmp(profile_str(profile,
					       profile->symbols.functions[label->function.v].name),
				   function) == 0;
	}
	return labels;
}

static int select_slow(struct selection *selection, const struct slow_filter *filter,
		       struct err *err)
{
	const struct expansion *expansion = selection->original;
	struct selected_slow *slow = &selection->slow;
	cleanup_free bool *labels = NULL;
	int status;

	if (!filter->text)
		return 0;
	status = slow_calls_new(expansion->profile, filter->text, &slow->calls, err);
	if (status) {
		err_prefix(err, "--slow");
		return status;
	}
	slow->which = filter->which;
	if (filter->which == FILTER_SLOW_CALLS)
		return 0;
	labels = match_function(expansion, slow->calls->function);
	slow->stacks = xcalloc(stack_trie_nr(expansion->profile->stacks), sizeof(*slow->stacks));
	add_stacks_with(expansion, labels, slow->stacks);
	return 0;
}

static bool has_time_range(const struct selection *selection)
{
	return selection->from_ns != 0 || selection->to_ns != UINT64_MAX;
}

int selection_new(const struct expansion *expansion, const struct filter *filter,
		  struct selection **selection, struct err *err)
{
	struct compiled_filter compiled = {0};
	struct selection *out = xcalloc(1, sizeof(*out));
	int status;

	out->expansion = out->original = expansion;
	out->timelines = timelines_new(expansion->profile);
	out->elapsed = xcalloc(1, sizeof(*out->elapsed));
	out->parallelism = filter->parallelism;
	status = find_ranges(out, filter, err);
	if (status == 0)
		status = compile_filter(&compiled, filter, err);
	if (status == 0)
		status = reshape(out, &filter->shape, err);
	if (status == 0)
		status = label_filter_select(expansion->profile, filter->labels.texts,
					     filter->labels.nr, &out->labels, err);
	if (status == 0) {
		select_all(out, &compiled, filter);
		status = find_moment(out, &filter->heap, &out->heap, err);
	}
	if (status == 0)
		status = select_slow(out, &filter->slow, err);
	if (status == 0) {
		out->whole_lives = out->whole_lives && !has_time_range(out);
		out->everything = out->everything && out->whole_lives;
		*selection = out;
	} else {
		selection_free(out);
	}
	compiled_filter_release(&compiled);
	return status;
}

void selection_free(struct selection *selection)
{
	if (!selection)
		return;
	free(selection->threads);
	free(selection->processes);
	free(selection->functions);
	free(selection->stacks);
	slow_calls_free(selection->slow.calls);
	free(selection->slow.stacks);
	free(selection->labels);
	free(selection->ranges);
	timelines_free(selection->timelines);
	elapsed_free(*selection->elapsed);
	free(selection->elapsed);
	reshaped_free(selection->reshaped);
	free(selection);
}

void selection_walk_init(struct selection_walk *walk, const struct selection *selection)
{
	*walk = (struct selection_walk){.selection = selection};
	if (has_time_range(selection))
		selection_walk_tell_begins(walk);
}

void selection_walk_tell_begins(struct selection_walk *walk)
{
	const struct profile *profile = walk->selection->expansion->profile;

	if (walk->previous_ns)
		return;
	walk->previous_ns = xcalloc(profile->nr_threads, sizeof(*walk->previous_ns));
	for (size_t i = 0; i < profile->nr_threads; i++)
		walk->previous_ns[i] = profile->threads[i].start_ns;
}

void selection_walk_release(struct selection_walk *walk)
{
	free(walk->previous_ns);
	walk->previous_ns = NULL;
}

static uint64_t scale(uint64_t value, uint64_t part, uint64_t whole)
{
	return (uint64_t)((long double)value * (long double)part / (long double)whole);
}

/* Cut a sample that covers begin_ns … time_ns to the range; false when nothing is left of it. */
static bool cut_sample(const struct time_range *range, uint64_t begin_ns, struct sample *sample)
{
	uint64_t end_ns = sample->time_ns;
	uint64_t from_ns = max_u64(begin_ns, range->from_ns);
	uint64_t to_ns = min_u64(end_ns, range->to_ns);
	uint64_t span_ns = end_ns - begin_ns, part_ns;

	if (span_ns == 0)
		return end_ns >= range->from_ns && end_ns <= range->to_ns;
	if (to_ns <= from_ns)
		return false;
	part_ns = to_ns - from_ns;
	if (part_ns == span_ns)
		return true;
	sample->time_ns = to_ns;
	sample->cpu_ns = scale(sample->cpu_ns, part_ns, span_ns);
	sample->runq_ns = scale(sample->runq_ns, part_ns, span_ns);
	sample->blocked_ns = scale(sample->blocked_ns, part_ns, span_ns);
	/* Rounded up: the remaining part counts as at least one observation. */
	if (sample->nr > 1)
		sample->nr = (uint32_t)scale(sample->nr - 1, part_ns, span_ns) + 1;
	return true;
}

static bool in_time(struct selection_walk *walk, struct sample *sample)
{
	const struct time_range *range;
	uint64_t *previous_ns, begin_ns;

	if (!walk->previous_ns)
		return true;
	range = selection_range(walk->selection, sample->thread);
	previous_ns = &walk->previous_ns[sample->thread.v];
	begin_ns = *previous_ns < sample->time_ns ? *previous_ns : sample->time_ns;
	*previous_ns = sample->time_ns;
	walk->begin_ns = max_u64(begin_ns, range->from_ns);
	return cut_sample(range, begin_ns, sample);
}

/* Was it taken in a slow call, or, if these are wanted, too, in another one of the function? */
static bool is_in_calls(struct selection_walk *walk, size_t index)
{
	const struct selected_slow *slow = &walk->selection->slow;
	const struct sample *sample = &walk->selection->original->profile->samples[index];

	if (!slow->calls)
		return true;
	walk->slow_call = slow_calls_find(slow->calls, sample->thread, sample->time_ns);
	if (walk->slow_call != SLOW_CALL_NONE)
		return slow->which != FILTER_OTHER_CALLS;
	return slow->stacks && slow->stacks[sample->stack.v];
}

bool selection_walk_next(struct selection_walk *walk, struct sample *sample)
{
	const struct selection *selection = walk->selection;
	const struct profile *profile = selection->expansion->profile;

	while (walk->next < profile->nr_samples) {
		*sample = profile->samples[walk->next++];
		if (in_time(walk, sample) && selection_has(selection, sample) &&
		    is_in_calls(walk, walk->next - 1))
			return true;
	}
	return false;
}

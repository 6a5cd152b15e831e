// SPDX-License-Identifier: GPL-2.0-or-later
/* The heading above a view, and the notes below it. */
#include "view/summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/minmax.h"
#include "base/sink.h"
#include "calltree/counts.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/observe.h"
#include "calltree/weights.h"
#include "profile/heap_survey.h"
#include "profile/lone_code.h"
#include "profile/runtime.h"
#include "view/cut.h"
#include "view/elapsed_words.h"
#include "view/info_counts.h"
#include "view/known_names.h"
#include "view/line.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/run_lines.h"
#include "view/script_words.h"

/* Notes are printed from this share of the total on. */
#define WORTH_A_NOTE_PERCENT 1.0
#define FEW_SAMPLES	     100
#define IDLE_PERCENT	     50.0
#define MOST_PERCENT	     50.0
#define MANY_MISSED_PERCENT  30.0

static const struct profile *profile_of(const struct weights *weights)
{
	return weights->selection->expansion->profile;
}

/* The noun that shares refer to. */
static const char *stuff_of(const struct weights *weights)
{
	if (metric_is_counter(weights->metric))
		return metric_info(weights->metric)->none_words;
	return metric_is_memory(weights->metric) ? "memory" : "time";
}

/* "1.20 s (48.2% of 2.41 s)" when a filter is on. */
static void append_amount(struct buf *out, const struct weights *weights)
{
	struct tally all = {.weight = selection_total_of_all(weights->selection, weights->metric)};

	append_weight(out, weights->metric, weights->total.weight);
	if (!weights->selection->everything) {
		buf_append_str(out, " (");
		append_percent(out, tally_percent(&weights->total, &all));
		buf_append_str(out, "% of ");
		append_weight(out, weights->metric, all.weight);
		buf_append_str(out, ")");
	}
	buf_append_str(out, metric_info(weights->metric)->amount_words);
	if (profile_of(weights)->meta.within.v == STR_EMPTY.v)
		return;
	buf_append_str(out, " inside ");
	escape_terminal(out, profile_str(profile_of(weights), profile_of(weights)->meta.within));
}

/* ": prog --fast", as far as it is known. */
static void append_title(struct buf *out, const struct profile *profile)
{
	struct buf title = {0};

	profile_append_title(&title, profile);
	if (title.nr_bytes > 0)
		buf_append_str(out, ": ");
	escape_terminal(out, buf_str(&title));
	buf_release(&title);
}

/*
 * "235 of 324 samples": those that pass the filter and have any time of the metric, of all samples.
 * If some samples have no CPU time, the text says so.
 */
static void append_time_samples(struct buf *out, const struct weights *weights)
{
	uint64_t all = profile_total(profile_of(weights), METRIC_SAMPLES);

	if (!metric_is_time(weights->metric)) /* samples are the amount itself, or none of it */
		return;
	buf_append_str(out, ", ");
	if (weights->total.samples != all) {
		append_count(out, weights->total.samples);
		buf_append_str(out, " of ");
	}
	append_weight(out, METRIC_SAMPLES, all);
	if (weights->metric == METRIC_CPU && weights->total.samples != all)
		buf_append_str(out, " on a CPU");
}

/* " at 3.21 s in 1,204 blocks, 77 of them recorded" */
static void append_blocks(struct buf *out, const struct weights *weights)
{
	uint64_t blocks = tally_blocks(&weights->total);

	if (weights->at_ns != HEAP_AT_END) {
		buf_append_str(out, " at ");
		append_weight(out, METRIC_WALL, weights->at_ns);
	}
	if (weights->metric != METRIC_ALLOCS) {
		buf_append_str(out, " in ");
		append_weight(out, METRIC_ALLOCS, blocks);
	}
	/* Where all blocks are recorded, one row of the file may hold many. */
	if (weights->total.samples == blocks || tally_is_exact(&weights->total))
		return;
	buf_append_str(out, ", ");
	append_count(out, weights->total.samples);
	buf_append_str(out, " of them recorded,");
}

static void append_samples(struct buf *out, const struct weights *weights)
{
	if (metric_is_memory(weights->metric))
		append_blocks(out, weights);
	else
		append_time_samples(out, weights);
}

/* The split comes in clock ticks of 10 ms: a smaller difference is rounding. */
#define UNKNOWN_PERCENT 5

bool summary_append_split(struct buf *out, const struct profile *profile)
{
	uint64_t cpu_ns = profile_total(profile, METRIC_CPU), known_ns;
	struct cpu_split split;

	if (!profile_cpu_split(profile, &split))
		return false;
	known_ns = split.user_ns + split.system_ns;
	append_weight(out, METRIC_CPU, split.user_ns);
	buf_append_str(out, " user, ");
	append_weight(out, METRIC_CPU, split.system_ns);
	buf_append_str(out, " system");
	if (cpu_ns > known_ns && 100 * (cpu_ns - known_ns) > UNKNOWN_PERCENT * cpu_ns) {
		buf_append_str(out, ", ");
		append_weight(out, METRIC_CPU, cpu_ns - known_ns);
		buf_append_str(out, " unknown");
	}
	return true;
}

/* Minimum width kept for the command, which matters more than the user/system split. */
#define COMMAND_COLUMNS 24

/* The heading before the command. */
static void append_heading(struct buf *text, const struct weights *weights, bool with_split)
{
	const struct profile *profile = profile_of(weights);
	struct buf split = {0};

	append_amount(text, weights);
	if (with_split && weights->metric == METRIC_CPU && weights->selection->everything &&
	    summary_append_split(&split, profile))
		buf_printf(text, " (%s)", buf_str(&split));
	append_samples(text, weights);
	buf_append_str(text, " in ");
	append_weight(text, METRIC_WALL, profile->meta.duration_ns);
	buf_release(&split);
}

void summary_print_heading(const struct weights *weights, const struct view *view,
			   struct sink *sink)
{
	const struct profile *profile = profile_of(weights);
	struct buf text = {0}, title = {0}, shown = {0};

	append_title(&title, profile);
	append_heading(&text, weights, true);
	if (text_columns(buf_str(&text)) + min_u64(text_columns(buf_str(&title)), COMMAND_COLUMNS) >
	    view->columns) {
		buf_clear(&text);
		append_heading(&text, weights, false);
	}
	buf_append_str(&text, buf_str(&title));
	append_cut(&shown, buf_str(&text), view->columns, CUT_END);
	line_print(sink, view, STYLE_HEADING, buf_str(&shown));
	print_run_groups(profile, view, sink);
	buf_release(&text);
	buf_release(&title);
	buf_release(&shown);
}

static bool worth_a_note(const struct weights *weights, const struct tally *part)
{
	return tally_percent(part, &weights->total) > WORTH_A_NOTE_PERCENT;
}

static void append_share(struct buf *out, const struct weights *weights, const struct tally *part)
{
	append_percent(out, tally_percent(part, &weights->total));
	buf_append_byte(out, '%');
}

struct tick_counts {
	uint64_t nr_missed, nr_due;
};

static struct tick_counts tick_counts_of(const struct profile *profile)
{
	uint64_t nr_missed = profile_counter(profile, "missed_ticks");

	return (struct tick_counts){nr_missed, profile_counter(profile, "ticks") + nr_missed};
}

static bool has_missed_many(const struct profile *profile)
{
	struct tick_counts ticks = tick_counts_of(profile);

	return ticks.nr_due &&
	       100.0 * (double)ticks.nr_missed / (double)ticks.nr_due >= MANY_MISSED_PERCENT;
}

static void note_unattributed(const struct weights *weights, struct buf *note)
{
	if (!worth_a_note(weights, &weights->unattributed))
		return;
	append_share(note, weights, &weights->unattributed);
	if (metric_is_counter(weights->metric)) {
		buf_printf(
			note,
			" of the %s have no sample on both sides: they came before the first of a "
			"thread, after the last, or between stacks with nothing in common, and "
			"are counted as [unattributed]",
			stuff_of(weights));
		return;
	}
	if (has_missed_many(profile_of(weights))) {
		buf_append_str(
			note,
			" of the time has no stack, as profc had no CPU meanwhile: threads of "
			"real-time priority, or too many others, had them all");
		return;
	}
	buf_append_str(note,
		       " of the time was used in bursts too short to sample, or after the last "
		       "sample of a thread: it has no stack and is counted as "
		       "[unattributed]");
}

/* Tables by function have most of a counter in one row. */
static void note_between(const struct weights *weights, struct buf *note)
{
	if (metric_is_counter(weights->metric) && weights->total.weight)
		buf_append_str(note,
			       "an advance between two samples is [between samples], below the "
			       "functions that both stacks have in common: --tree shows which");
}

/* A smaller difference comes from the time between two readings. */
#define MOSTLY_COUNTED_PERCENT 99

/* Says which events are missing, and which were scaled. */
static void note_events(const struct weights *weights, struct buf *note)
{
	const struct profile *profile = profile_of(weights);
	uint64_t enabled_ns = profile_counter(profile, "events_enabled_ns");
	uint64_t running_ns = profile_counter(profile, "events_running_ns");
	uint64_t nr_uncounted = profile_counter(profile, "events_without_descriptor") +
				profile_counter(profile, "events_refused");
	const struct tally running = {.weight = running_ns}, enabled = {.weight = enabled_ns};

	if (!metric_is_counter(weights->metric) ||
	    !kernel_counters_of_events(KERNEL_COUNTER_BIT(metric_counter(weights->metric))))
		return;
	if (nr_uncounted) {
		append_count(note, nr_uncounted);
		buf_printf(note, " thread%s could not be counted: 'profc info' says why",
			   nr_uncounted == 1 ? "" : "s");
	}
	if (tally_percent(&running, &enabled) >= MOSTLY_COUNTED_PERCENT || !enabled_ns)
		return;
	buf_append_str(note, nr_uncounted ? "; " : "");
	buf_append_str(note, "counters had to share the hardware: they counted for ");
	append_percent(note, tally_percent(&running, &enabled));
	buf_append_str(note, "% of the time, and stand for all of it");
}

static void note_no_stack(const struct weights *weights, struct buf *note)
{
	if (!worth_a_note(weights, &weights->no_stack))
		return;
	append_share(note, weights, &weights->no_stack);
	buf_printf(note, " of the %s has no stack: %s", stuff_of(weights),
		   metric_is_memory(weights->metric) ? "none could be taken"
						     : "the threads could not be sampled");
}

/* The most frequent reason why stacks are truncated, and its remedy. */
static void note_truncated(const struct weights *weights, struct buf *note)
{
	int most = STACK_END_NO_MAPPING;
	const char *remedy;

	if (!worth_a_note(weights, &weights->truncated))
		return;
	for (int end = 0; end < STACK_END_COUNT; end++)
		if (!stack_end_is_complete((enum stack_end)end) &&
		    weights->ended[end].weight > weights->ended[most].weight)
			most = end;
	append_share(note, weights, &weights->truncated);
	buf_printf(note, " of the %s is in stacks that do not reach the root%s %s",
		   stuff_of(weights),
		   weights->ended[most].weight < weights->truncated.weight ? ", mostly:" : ":",
		   stack_end_name((enum stack_end)most));
	remedy = stack_end_remedy((enum stack_end)most, false);
	/* The bytes copied at an allocation follow the needs of earlier walks, at any frequency. */
	if (most == STACK_END_BAD_MEMORY && metric_is_memory(weights->metric))
		remedy = "profc copies as much as walks needed a tenth of a second ago, up to 64 "
			 "KiB";
	if (remedy)
		buf_printf(note, " (%s)", remedy);
}

static void note_elided(const struct weights *weights, struct buf *note)
{
	if (!worth_a_note(weights, &weights->elided))
		return;
	append_share(note, weights, &weights->elided);
	buf_printf(note, " of the %s is in stacks deeper than --max-depth: their middle is elided",
		   stuff_of(weights));
}

/* Self weight of nameless code, by module. The caller frees the array. */
static struct tally *nameless_by_module(const struct weights *weights)
{
	const struct expansion *expansion = weights->selection->expansion;
	const struct profile *profile = expansion->profile;
	struct tally *modules = xcalloc(module_table_nr(profile->modules), sizeof(*modules));
	struct stack_weight sum;

	for (size_t next = 0; weights_next_stack(weights, &next, &sum);) {
		struct frame_id frame = stack_trie_frame(profile->stacks, sum.stack);
		const struct level *level = expansion_outermost(expansion, frame);

		if (label_is_nameless(expansion, level->label))
			tally_add(&modules[profile->frames[frame.v].where.module.v], &sum.tally);
	}
	return modules;
}

static void append_problem(struct buf *note, const struct profile *profile, uint32_t module)
{
	const char *problem = "";

	if (module < profile->symbols.nr_modules)
		problem = profile_str(profile, profile->symbols.modules[module].problem);
	if (*problem) {
		buf_append_str(note, ": ");
		escape_terminal(note, problem);
	}
}

static void note_nameless(const struct weights *weights, struct buf *note)
{
	const struct profile *profile = profile_of(weights);
	cleanup_free struct tally *modules = nameless_by_module(weights);
	struct tally sum = {0};
	uint32_t most = 0;

	for (uint32_t i = 0; i < module_table_nr(profile->modules); i++) {
		tally_add(&sum, &modules[i]);
		if (modules[i].weight > modules[most].weight)
			most = i;
	}
	if (!worth_a_note(weights, &sum))
		return;
	append_share(note, weights, &sum);
	buf_printf(note, " of the %s is in code without symbols", stuff_of(weights));
	if (!profile_is_resolved(profile)) {
		buf_append_str(note, profile->meta.complete ? ": it was recorded with --no-symbols"
							    : ": the recording did not finish");
		buf_append_str(note, "; 'profc symbolize' adds them");
		return;
	}
	buf_append_str(note, ", mostly in ");
	escape_terminal(note, module_short_name(module_table_get(profile->modules,
								 (struct module_id){most})));
	append_problem(note, profile, most);
}

/* Did any program of the recording name the code that it generated or interpreted? */
static bool has_jit_names(const struct profile *profile)
{
	for (size_t i = 0; i < profile->symbols.nr_modules; i++) {
		enum symbol_source source = profile->symbols.modules[i].source;

		if (source == SYMBOL_SOURCE_PERF_MAP || source == SYMBOL_SOURCE_JITDUMP)
			return true;
	}
	for (size_t i = 0; i < profile->jit.nr_names; i++) {
		struct module_id module =
			profile->frames[profile->jit.names[i].frame.v].where.module;
		enum module_kind kind = module_table_get(profile->modules, module)->kind;

		if (kind == MODULE_KIND_JIT || kind == MODULE_KIND_SCRIPT)
			return true;
	}
	return false;
}

/* The runtime of each module. The caller frees the array. */
static const struct runtime **runtimes_of_modules(const struct profile *profile)
{
	uint32_t nr = module_table_nr(profile->modules);
	const struct runtime **runtimes = xcalloc(nr, sizeof(*runtimes));

	for (uint32_t i = 0; i < nr; i++) {
		const struct module *module =
			module_table_get(profile->modules, (struct module_id){i});

		if (module->kind == MODULE_KIND_FILE)
			runtimes[i] = runtime_of_file(module->path);
	}
	return runtimes;
}

/* By stack, the runtime that it is in, or that called it. The caller frees the array. */
static const struct runtime **runtimes_of_stacks(const struct profile *profile,
						 const struct runtime *const *by_module)
{
	uint32_t nr = stack_trie_nr(profile->stacks);
	const struct runtime **by_stack = xcalloc(nr, sizeof(*by_stack));

	/* Callers come first. */
	for (uint32_t i = 1; i < nr; i++) {
		struct stack_id id = {i};
		struct frame_id frame = stack_trie_frame(profile->stacks, id);

		by_stack[i] = by_module[profile->frames[frame.v].where.module.v];
		if (!by_stack[i])
			by_stack[i] = by_stack[stack_trie_parent(profile->stacks, id).v];
	}
	return by_stack;
}

static bool is_in_jit(const struct profile *profile, struct stack_id stack)
{
	struct frame_id frame = stack_trie_frame(profile->stacks, stack);
	struct module_id module = profile->frames[frame.v].where.module;

	return module_table_get(profile->modules, module)->kind == MODULE_KIND_JIT;
}

/*
 * The time of a runtime and its callees. Code that it generates does not count: note_nameless()
 * reports that.
 */
static struct tally time_of_runtime(const struct weights *weights,
				    const struct runtime *const *by_stack,
				    const struct runtime *runtime)
{
	struct tally tally = {0};
	struct stack_weight sum;

	for (size_t next = 0; weights_next_stack(weights, &next, &sum);) {
		if (by_stack[sum.stack.v] == runtime && !is_in_jit(profile_of(weights), sum.stack))
			tally_add(&tally, &sum.tally);
	}
	return tally;
}

/* The runtime with the most time, or NULL; by_module: those of the modules. */
static const struct runtime *main_runtime(const struct weights *weights,
					  const struct runtime *const *by_module,
					  struct tally *most)
{
	const struct profile *profile = profile_of(weights);
	const struct runtime **by_stack = NULL;
	const struct runtime *main = NULL;

	for (uint32_t i = 0; i < module_table_nr(profile->modules); i++) {
		struct tally tally;

		if (!by_module[i])
			continue;
		if (!by_stack)
			by_stack = runtimes_of_stacks(profile, by_module);
		tally = time_of_runtime(weights, by_stack, by_module[i]);
		if (tally.weight > most->weight) {
			*most = tally;
			main = by_module[i];
		}
	}
	free(by_stack);
	return main;
}

/* If an interpreter has most of the time, its own functions are not those the user looks for. */
static void note_interpreter(const struct weights *weights, struct buf *note)
{
	struct tally tally = {0};
	const struct runtime *runtime = NULL;
	struct buf refused = {0};

	if (!has_jit_names(profile_of(weights))) {
		cleanup_free const struct runtime **by_module =
			runtimes_of_modules(profile_of(weights));

		runtime = main_runtime(weights, by_module, &tally);
	}
	if (!runtime || tally_percent(&tally, &weights->total) < MOST_PERCENT)
		return;
	script_append_interpreters(&refused, profile_of(weights), true);
	if (runtime->advice || refused.nr_bytes) {
		append_share(note, weights, &tally);
		buf_printf(note, " of the %s is in %s and what it calls", stuff_of(weights),
			   runtime->name);
	}
	if (refused.nr_bytes)
		buf_printf(note, ": %s", buf_str(&refused));
	buf_release(&refused);
	if (runtime->advice)
		buf_printf(note,
			   "; to see the functions of the program that it runs, start it as: %s",
			   runtime->advice);
}

/* V8 does not say where one function is in the code of another. */
static void note_compiled_scripts(const struct weights *weights, struct buf *note)
{
	const struct profile *profile = profile_of(weights);

	for (size_t i = 0; i < profile->jit.nr_sources; i++) {
		if (profile->jit.sources[i].source != SYMBOL_SOURCE_COMPILER)
			continue;
		buf_append_str(note, "a function of Node.js has the time of those that V8 has "
				     "inlined into it, too");
		return;
	}
}

void summary_append_lone_code(struct buf *note, const struct profile *profile)
{
	uint64_t total_ns = profile_total(profile, METRIC_CPU);
	struct lone_code code;

	if (!profile_find_lone_code(profile, &code) ||
	    100 * (double)code.cpu_ns <= UNKNOWN_PERCENT * (double)total_ns)
		return;
	append_percent(note, 100 * (double)code.cpu_ns / (double)total_ns);
	buf_printf(
		note,
		"%% of the CPU time is in %s, where no function was seen to call another: some "
		"runtimes (Chez Scheme, Racket) keep such calls on a stack of their own, and these "
		"callers are not known",
		module_short_name(module_table_get(profile->modules, code.module)));
}

static void note_lone_code(const struct weights *weights, struct buf *note)
{
	if (metric_is_of_samples(weights->metric))
		summary_append_lone_code(note, profile_of(weights));
}

/* ", blocked for 93.0% (-m blocked shows where)", if it is worth it. */
static void append_rest_of_time(struct buf *note, const struct weights *weights, enum metric metric,
				uint64_t wall_ns, const char *words)
{
	struct tally wall = {.weight = wall_ns};
	struct tally part = {.weight = profile_total(profile_of(weights), metric)};
	double percent = tally_percent(&part, &wall);

	if (percent < WORTH_A_NOTE_PERCENT)
		return;
	buf_append_str(note, words);
	append_percent(note, percent);
	buf_printf(note, "%% (-m %s shows where)", metric_name(metric));
}

/* CPU time is likely the wrong metric for a program that mostly waits. */
static bool is_mostly_idle(const struct weights *weights)
{
	struct tally wall = {0};

	if (weights->metric != METRIC_CPU || !weights->selection->everything)
		return false;
	wall.weight = profile_total(profile_of(weights), METRIC_WALL);
	return wall.weight && tally_percent(&weights->total, &wall) < IDLE_PERCENT;
}

static void note_idle(const struct weights *weights, struct buf *note)
{
	uint64_t wall_ns = profile_total(profile_of(weights), METRIC_WALL);
	struct tally wall = {.weight = wall_ns};

	if (!is_mostly_idle(weights))
		return;
	buf_append_str(note, "the threads were on-CPU for only ");
	append_percent(note, tally_percent(&weights->total, &wall));
	buf_append_str(note, "% of their time");
	append_rest_of_time(note, weights, METRIC_BLOCKED, wall_ns, ", blocked for ");
	append_rest_of_time(note, weights, METRIC_RUNQ, wall_ns, ", waiting for a CPU for ");
}

bool summary_append_missed(struct buf *out, const struct profile *profile)
{
	struct tick_counts ticks = tick_counts_of(profile);

	if (!has_missed_many(profile))
		return false;
	append_count(out, ticks.nr_missed);
	buf_append_str(out, " of ");
	append_count(out, ticks.nr_due);
	buf_append_str(out, " ticks were missed: the CPUs were too busy");
	return true;
}

static void note_missed(const struct weights *weights, struct buf *note)
{
	if (metric_is_of_samples(weights->metric) &&
	    summary_append_missed(note, profile_of(weights)))
		buf_append_str(note, "; shares are less precise than -F suggests");
}

static void note_within(const struct weights *weights, struct buf *note)
{
	const struct profile *profile = profile_of(weights);

	if (profile->meta.within.v == STR_EMPTY.v)
		return;
	buf_append_str(note, "recorded only while inside ");
	escape_terminal(note, profile_str(profile, profile->meta.within));
	buf_append_str(note, ": what threads did elsewhere is in no number here");
}

/* A total that is known exactly needs no warning about few blocks. */
static void note_few_blocks(const struct weights *weights, struct buf *note)
{
	if (weights->total.known == weights->total.weight)
		return;
	buf_append_str(note, weights->total.samples == 1 ? "only " : "no more than ");
	append_weight(note, METRIC_ALLOCS, weights->total.samples);
	buf_append_str(note, weights->total.samples == 1 ? " was" : " were");
	buf_append_str(note,
		       " recorded: see the \xc2\xb1 column, or record longer or with a smaller "
		       "--mem");
}

bool summary_append_unknown(struct buf *out, const struct weights *weights)
{
	if (!weights->unknown.weight)
		return false;
	append_weight(out, weights->metric, weights->unknown.weight);
	if (weights->metric == METRIC_FREED) {
		buf_append_str(out, " in ");
		append_weight(out, METRIC_ALLOCS, tally_blocks(&weights->unknown));
		buf_append_str(out, " more: the freeing stack was not recorded");
	} else {
		buf_append_str(out, " more may be so: how long that lived is not known, as "
				    "realloc() made it of blocks, or blocks of it, that were not "
				    "recorded");
	}
	return true;
}

void summary_explain_nothing(struct err *err, const struct weights *weights, const char *input,
			     const char *path)
{
	enum metric metric = weights->metric;
	bool is_filtered = selection_total_of_all(weights->selection, metric) > 0;
	struct buf unknown = {0};

	err_set(err, ERR_EMPTY, "no %s in %s%s", metric_info(metric)->none_words, path,
		is_filtered ? " pass the filters" : "");
	if (!is_filtered && metric_is_counter(metric))
		err_hint(err, "'profc record --metrics %s' records them", metric_name(metric));
	if (!is_filtered && metric_is_of_samples(metric) &&
	    profile_total(profile_of(weights), METRIC_WALL) > 0)
		err_hint(err, "'profc report --by state%s%s' shows how the time passed",
			 input ? " -i " : "", input ? input : "");
	if (is_filtered && weights->selection->from_ns >= profile_of(weights)->meta.duration_ns) {
		append_weight(&unknown, METRIC_WALL, profile_of(weights)->meta.duration_ns);
		err_hint(err, "the recording is over after %s", buf_str(&unknown));
		buf_clear(&unknown);
	}
	if (is_filtered)
		known_names_hint(err, weights->selection);
	if (summary_append_unknown(&unknown, weights))
		err_hint(err, "%s", buf_str(&unknown));
	buf_release(&unknown);
}

static void note_unknown(const struct weights *weights, struct buf *note)
{
	summary_append_unknown(note, weights);
}

static void note_few_samples(const struct weights *weights, struct buf *note)
{
	if (weights->total.samples >= FEW_SAMPLES || weights->total.weight == 0 ||
	    is_mostly_idle(weights))
		return;
	if (metric_is_memory(weights->metric)) {
		note_few_blocks(weights, note);
		return;
	}
	if (weights->total.samples == 0) {
		buf_append_str(note, "there are no samples: record longer or with a higher -F");
		return;
	}
	buf_append_str(note, weights->total.samples == 1 ? "there is only " : "there are only ");
	append_weight(note, METRIC_SAMPLES, weights->total.samples);
	buf_append_str(note, ": see the \xc2\xb1 column, or record longer");
	if (!has_missed_many(profile_of(weights)))
		buf_append_str(note, " or with a higher -F");
}

static void note_filtered_counts(const struct weights *weights, struct buf *note)
{
	if (weights->counts->state == COUNTS_FILTERED)
		buf_append_str(note, "calls are counted for whole processes, with what they fork: "
				     "of what these filters select they are unknown");
}

static void note_hides_nothing(const struct weights *weights, struct buf *note)
{
	if (weights->selection->hides_nothing)
		buf_append_str(note, "no function has a name that --hide matches");
}

static void note_refusals(const struct weights *weights, struct buf *note)
{
	uint64_t nr = counted_of(profile_of(weights)).refused;

	if (nr == 0)
		return;
	append_count(note, nr);
	buf_printf(note, " function%s or call%s could not be counted: 'profc info' says why",
		   nr == 1 ? "" : "s", nr == 1 ? "" : "s");
}

/* The longest time that a process had run in the recording when its calls began to count. */
static uint64_t latest_start(const struct profile *profile)
{
	uint64_t latest_ns = 0;

	for (size_t i = 0; i < profile->probes.nr_counts; i++) {
		const struct profile_count *row = &profile->probes.counts[i];
		uint64_t start_ns = profile->processes[row->process].start_ns;

		if (row->from_ns > start_ns)
			latest_ns = max_u64(latest_ns, row->from_ns - start_ns);
	}
	return latest_ns;
}

static void note_late_counts(const struct weights *weights, struct buf *note)
{
	const struct profile *profile = profile_of(weights);
	const struct tally late = {.weight = latest_start(profile)};
	const struct tally all = {.weight = profile->meta.duration_ns};

	if (weights->counts->state != COUNTS_KNOWN ||
	    tally_percent(&late, &all) <= WORTH_A_NOTE_PERCENT)
		return;
	buf_append_str(note, "calls were counted up to ");
	append_weight(note, METRIC_WALL, late.weight);
	buf_append_str(note, " later than sampled; time per call is that of the time counted");
}

void summary_append_unwatched(struct buf *note, const struct profile *profile)
{
	uint64_t nr = counted_of(profile).refused;

	if (nr == 0)
		return;
	append_count(note, nr);
	buf_append_str(note, nr == 1 ? " function could not be watched: if it frees, what it has "
				       "freed is among this; 'profc info' says why"
				     : " functions could not be watched: what those of them that "
				       "free have freed is among this; 'profc info' says why");
}

void summary_append_lost_blocks(struct buf *note, const struct profile *profile)
{
	struct heap_losses_survey losses = heap_survey_losses(profile);
	bool has_all = heap_survey_has_all(profile);

	/* In a sample other blocks represent lost ones; with all blocks, every loss is reported. */
	if (!losses.nr_dropped ||
	    (!has_all &&
	     100 * (double)losses.nr_dropped <= WORTH_A_NOTE_PERCENT * (double)losses.nr_recorded))
		return;
	append_count(note, losses.nr_dropped);
	buf_append_str(note, losses.nr_dropped == 1 ? " block was " : " blocks were ");
	buf_append_str(note, has_all ? "lost beside " : "left out beside ");
	append_count(note, losses.nr_recorded);
	buf_append_str(note, " that were recorded, as they came too fast: ");
	buf_append_str(
		note,
		has_all ? "they are in none of this, and \xc2\xb1 is as if all of them "
			  "belonged there; less is lost where profc gets more of the CPUs"
			: "others, chosen at random, represent them, which makes \xc2\xb1 "
			  "larger; 'profc record' with a larger RATE of --mem leaves out fewer");
}

void summary_append_lost_frees(struct buf *note, uint64_t nr)
{
	if (!nr)
		return;
	append_count(note, nr);
	buf_append_str(note,
		       nr == 1 ? " free was not recorded: one block that is shown as left may "
				 "have been freed"
			       : " frees were not recorded: up to ");
	if (nr == 1)
		return;
	append_count(note, nr);
	buf_append_str(note, " blocks that are shown as left may have been freed");
}

void summary_append_unrecorded_frees(struct buf *note, const struct profile *profile)
{
	summary_append_lost_frees(note, heap_survey_losses(profile).nr_frees);
}

void summary_append_late_programs(struct buf *note, const struct profile *profile)
{
	struct heap_survey survey;

	heap_survey(&survey, profile);
	if (!survey.nr_late)
		return;
	append_count(note, survey.nr_late);
	buf_append_str(note, survey.nr_late == 1 ? " program was" : " programs were");
	buf_append_str(
		note, " executed meanwhile: what was allocated in the first moments of one, mostly "
		      "less than 0.3 s, is not in this; to have it of one of them, record "
		      "that program itself");
}

static void note_late_programs(const struct weights *weights, struct buf *note)
{
	if (metric_is_memory(weights->metric))
		summary_append_late_programs(note, profile_of(weights));
}

static void note_lost_blocks(const struct weights *weights, struct buf *note)
{
	if (metric_is_memory(weights->metric))
		summary_append_lost_blocks(note, profile_of(weights));
}

/* Allocated amounts do not depend on frees. */
static void note_lost_frees(const struct weights *weights, struct buf *note)
{
	if (metric_is_memory(weights->metric) && weights->metric != METRIC_ALLOC &&
	    weights->metric != METRIC_ALLOCS)
		summary_append_unrecorded_frees(note, profile_of(weights));
}

static void note_coarse_times(const struct weights *weights, struct buf *note)
{
	if (weights->metric == METRIC_PEAK &&
	    profile_counter(profile_of(weights), HEAP_COARSE_TIMES))
		buf_append_str(note, "more may have been alive at the peak: the clock of this "
				     "processor is not even, and times of allocations are those "
				     "at which profc looked, some milliseconds apart");
}

void summary_print_notes(const struct weights *weights, const struct view *view, struct sink *sink)
{
	static void (*const notes[])(const struct weights *, struct buf *) = {
		note_within,	 note_missed,		note_unattributed,    note_no_stack,
		note_truncated,	 note_elided,		note_nameless,	      note_interpreter,
		note_idle,	 note_few_samples,	note_filtered_counts, note_late_counts,
		note_refusals,	 note_unknown,		note_late_programs,   note_lost_blocks,
		note_lost_frees, note_hides_nothing,	note_between,	      note_events,
		note_lone_code,	 note_compiled_scripts, note_coarse_times,    note_elapsed,
	};
	struct buf note = {0};
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
		if (view->of_scripts && notes[i] == note_nameless)
			continue;
		notes[i](weights, &note);
		if (note.nr_bytes == 0)
			continue;
		if (!any)
			sink_str(sink, "\n");
		any = true;
		paragraph_print(view, "note: ", buf_str(&note), sink);
		buf_clear(&note);
	}
	buf_release(&note);
}

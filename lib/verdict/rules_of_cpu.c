// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules about CPU time: a function, page faults, a path of calls, and threads that wait for CPUs.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/tree.h"
#include "calltree/wait_function.h"
#include "calltree/weights.h"
#include "mapping/module.h"
#include "profile/profile.h"
#include "profile/runtime.h"
#include "verdict/hot_path_priv.h"
#include "verdict/rule_priv.h"
#include "verdict/verdict.h"
#include "view/machine_text.h"
#include "view/number.h"

/* Callers of a function that a line names, at most. */
#define CALLERS_MAX 3
/* The second function is named, too, if it takes this share. */
#define NEXT_PERCENT 25
#define NR_NEXT	     5
/* The recorded threads had the CPUs to themselves if they used this share of all CPU time. */
#define OWN_PERCENT 80

/* --- one function --- */

/* The function at a rank, or one without any weight. */
static const struct flat_row *function_at(const struct facts *facts, size_t rank)
{
	static const struct flat_row none = {.label = FLAT_NONE};

	for (size_t i = 0; i < facts->functions->nr; i++) {
		const struct flat_row *row = &facts->functions->rows[i];

		if (row->self.weight && label_is_code(facts->expansion, row->label) && rank-- == 0)
			return row;
	}
	return &none;
}

static struct measure measure_function(const struct facts *facts)
{
	return measure_of(facts, &function_at(facts, 0)->self);
}

static const char *plain_name(const struct facts *facts, uint32_t label)
{
	const struct function *function = label_function(facts->expansion, label);

	return function ? profile_str(facts->profile, function->name) : "";
}

/* Does a thread begin with this function? The function that it calls is the program's. */
static bool begins_thread(const struct facts *facts, uint32_t label)
{
	static const char *const names[] = {"start_thread", "clone",	      "clone3", "__clone3",
					    "__clone",	    "runtime.goexit", NULL};

	return facts_is_one_of(plain_name(facts, label), names);
}

/* Does any program begin with this function? */
bool facts_is_beginning(const struct facts *facts, uint32_t label)
{
	static const char *const names[] = {"_start",
					    "main",
					    "__libc_start_main",
					    "__libc_start_call_main",
					    "__libc_start_main_impl",
					    "runtime.main",
					    "std::rt::lang_start",
					    NULL};

	return begins_thread(facts, label) || facts_is_one_of(plain_name(facts, label), names);
}

/*
 * Find the callers by which most of a function's time comes, innermost first. Returns their number.
 */
static size_t find_callers(const struct facts *facts, uint32_t label, uint32_t callers[CALLERS_MAX])
{
	cleanup_free bool *wanted = xcalloc(facts->expansion->nr_labels, sizeof(*wanted));
	struct tree *tree;
	uint32_t at;
	uint64_t whole;
	size_t nr = 0;

	wanted[label] = true;
	tree = tree_new_callers(facts->cpu, wanted);
	at = tree->nodes[TREE_ROOT].first_child;
	whole = tree->nodes[at].total.weight;
	for (at = tree->nodes[at].first_child; at && nr < CALLERS_MAX;
	     at = tree->nodes[at].first_child) {
		const struct tree_node *node = &tree->nodes[at];

		if (2 * node->total.weight < whole ||
		    !label_is_code(facts->expansion, node->label) ||
		    facts_is_beginning(facts, node->label))
			break;
		if (node->label != label && !label_is_nameless(facts->expansion, node->label) &&
		    (!nr || callers[nr - 1] != node->label))
			callers[nr++] = node->label;
	}
	tree_free(tree);
	return nr;
}

/* Does profc itself use the time, as it counts calls or records memory? */
static bool is_of_probes(const struct facts *facts, uint32_t label)
{
	const struct module *module = label_module(facts->expansion, label);

	return module && module_is_of_probes(module);
}

/* "59.5% in sscanf > __rawmemchr" */
static void append_function(struct buf *out, const struct facts *facts, const struct flat_row *row)
{
	uint32_t callers[CALLERS_MAX];
	size_t nr = find_callers(facts, row->label, callers);

	append_percent(out, tally_percent(&row->self, &facts->cpu->total));
	buf_append_str(out, "% in ");
	while (nr-- > 0) {
		facts_append_name(out, facts, callers[nr]);
		buf_append_str(out, " > ");
	}
	facts_append_name(out, facts, row->label);
	if (is_of_probes(facts, row->label))
		buf_append_str(out, ", by which profc records memory and calls");
}

/*
 * The language runtime that a function belongs to, or NULL. Functions of a runtime say little about
 * the program that it runs.
 */
static const struct runtime *runtime_of(const struct facts *facts, uint32_t label)
{
	const struct module *module = label_module(facts->expansion, label);

	return module && module->kind == MODULE_KIND_FILE ? runtime_of_file(module->path) : NULL;
}

void append_hottest(struct buf *out, const char *before, const struct facts *facts)
{
	const struct flat_row *first = function_at(facts, 0);

	if (!first->self.weight)
		return;
	buf_append_str(out, before);
	append_function(out, facts, first);
}

/* Then the functions that the runtime runs have names already. */
static bool has_script_callers(const struct facts *facts, uint32_t label)
{
	uint32_t callers[CALLERS_MAX];
	size_t nr = find_callers(facts, label, callers);

	for (size_t i = 0; i < nr; i++) {
		if (label_is_script(facts->expansion, callers[i]))
			return true;
	}
	return false;
}

static void describe_function(struct buf *out, const struct facts *facts)
{
	const struct flat_row *first = function_at(facts, 0), *next = function_at(facts, 1);
	const struct runtime *runtime = runtime_of(facts, first->label);

	append_function(out, facts, first);
	if (measure_of(facts, &next->self).percent >= NEXT_PERCENT) {
		buf_append_str(out, ", ");
		append_function(out, facts, next);
	}
	if (runtime && runtime->advice && !has_script_callers(facts, first->label))
		buf_printf(out, "; %s names the functions that %s runs", runtime->advice,
			   runtime->name);
}

/* Its lines are known by the debug information, while its source is hardly ever at hand. */
static bool is_of_library(const struct facts *facts, uint32_t label)
{
	const struct module *module = label_module(facts->expansion, label);

	return module && wait_module_is_library(module);
}

/*
 * The command shows the lines of the function if they are known and not of the C library, else its
 * callers; if it has no name, its instructions. The functions of a script say more than those of
 * its interpreter.
 */
static void command_function(struct buf *out, const struct facts *facts)
{
	uint32_t label = function_at(facts, 0)->label;
	const struct function *function = label_function(facts->expansion, label);
	struct buf word = {0};

	if (runtime_of(facts, label) && has_script_callers(facts, label))
		buf_append_str(out, "report --by script");
	else if (is_of_probes(facts, label) || !facts_append_word(&word, facts, label))
		buf_append_str(out, "report --tree");
	else if (label_is_nameless(facts->expansion, label) || !function)
		buf_printf(out, "annotate --asm %s", buf_str(&word));
	else
		buf_printf(out, "%s %s",
			   function->line && !is_of_library(facts, label) ? "annotate"
									  : "report --callers",
			   buf_str(&word));
	buf_release(&word);
}

void prove_functions(struct verdict *verdict, const struct facts *facts)
{
	for (size_t i = 0; i < NR_NEXT && function_at(facts, i)->self.weight; i++) {
		const struct flat_row *row = function_at(facts, i);
		struct measure measure = measure_of(facts, &row->self);
		struct buf text = {0};

		buf_append_str(&text, "in ");
		facts_append_name(&text, facts, row->label);
		if (label_module(facts->expansion, row->label)) {
			buf_append_str(&text, " of ");
			facts_append_text(&text, module_short_name(label_module(facts->expansion,
										row->label)));
		}
		evidence_add(verdict, measure.percent, measure.interval, &text);
	}
}

const struct rule_functions rule_function = {measure_function, describe_function, command_function,
					     prove_functions};

/* --- page faults --- */

/*
 * More system time than this for each page fault has other reasons: a page fault that clears 2 MiB
 * takes 0.1 ms.
 */
#define LONGEST_FAULT_NS (200 * NS_PER_US)
/* The kernel counts in ticks: the times of each process may lack so much. */
#define ROUNDING_NS (10 * NS_PER_MS)

/* System time outside of system calls; 0 if the page faults cannot have taken it. */
static uint64_t faults_ns(const struct cpu_split *split, const struct tally *in_calls)
{
	uint64_t outside_ns = split->system_ns - min_u64(split->system_ns, in_calls->weight);

	return (double)outside_ns > LONGEST_FAULT_NS * (double)split->nr_faults ? 0 : outside_ns;
}

static double rounding_percent(const struct facts *facts)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < facts->profile->nr_processes; i++)
		sum_ns += facts->profile->processes[i].split.known ? ROUNDING_NS : 0;
	return measure_exact(sum_ns, facts->work.weight).percent;
}

static struct measure measure_faults(const struct facts *facts)
{
	struct cpu_split split;
	struct measure measure;

	if (!profile_cpu_split(facts->profile, &split) || !facts->profile->meta.knows_calls ||
	    !split.nr_faults)
		return measure_missing("page faults were not counted");
	if (!facts->selection->everything)
		return measure_missing("they are known of whole recordings only");
	measure = measure_exact(faults_ns(&split, &facts->in_calls), facts->work.weight);
	if (measure.percent <= 0)
		return measure;
	measure.interval = measure_of(facts, &facts->in_calls).interval + rounding_percent(facts);
	return measure;
}

double faults_percent(const struct cpu_split *split, size_t nr, const struct cpu_fact *cpu)
{
	uint64_t ns = split->known ? faults_ns(split, &cpu->in_calls) : 0;

	return measure_exact(ns - min_u64(ns, nr * ROUNDING_NS), cpu->all.weight).percent -
	       tally_interval(&cpu->in_calls, &cpu->all);
}

static void append_nr_faults(struct buf *out, uint64_t nr, uint64_t life_ns)
{
	append_count(out, nr);
	buf_append_str(out, " page faults (");
	append_rate(out, nr, life_ns);
	buf_append_str(out, "/s)");
}

void append_faults(struct buf *out, const struct cpu_split *split, const struct tally *in_calls,
		   uint64_t life_ns)
{
	append_weight(out, METRIC_CPU, faults_ns(split, in_calls));
	buf_append_str(out, " of CPU time in ");
	append_nr_faults(out, split->nr_faults, life_ns);
}

static void describe_faults(struct buf *out, const struct facts *facts)
{
	struct cpu_split split;

	if (!profile_cpu_split(facts->profile, &split))
		return;
	append_faults(out, &split, &facts->in_calls, facts->elapsed_ns);
	append_hottest(out, ", of all CPU time ", facts);
}

/* Stacks may be lost, as of a process that may not be traced: then there is no function. */
static void command_faults(struct buf *out, const struct facts *facts)
{
	if (function_at(facts, 0)->self.weight)
		command_function(out, facts);
	else
		buf_append_str(out, "report --by process");
}

static void prove_faults(struct verdict *verdict, const struct facts *facts)
{
	struct measure measure = measure_faults(facts);
	struct buf text = {0};
	struct cpu_split split;

	if (!profile_cpu_split(facts->profile, &split))
		return;
	buf_append_str(&text, "system time outside system calls, with ");
	append_nr_faults(&text, split.nr_faults, facts->elapsed_ns);
	evidence_add(verdict, measure.percent, measure.interval, &text);
	for (size_t i = 0; i < facts->calls.nr && i < 2; i++) {
		measure = measure_of(facts, &facts->calls.rows[i].work);
		buf_append_str(&text, "in ");
		facts_append_call(&text, facts, facts->calls.rows[i].nr);
		evidence_add(verdict, measure.percent, measure.interval, &text);
	}
	prove_functions(verdict, facts);
}

const struct rule_functions rule_faults = {measure_faults, describe_faults, command_faults,
					   prove_faults};

/* --- a path of calls --- */

#define PATH_LONGEST 512
#define PATH_NAMES   4

/* The innermost functions of the path that have names, and the sum below the innermost. */
struct hot_path {
	uint32_t labels[PATH_NAMES]; /* outermost first */
	size_t nr;
	struct tally total;
};

static bool is_worth_naming(const struct facts *facts, const uint32_t *labels, size_t i)
{
	return label_is_code(facts->expansion, labels[i]) &&
	       !label_is_nameless(facts->expansion, labels[i]) &&
	       !facts_is_beginning(facts, labels[i]) && !runtime_of(facts, labels[i]) &&
	       !(i && begins_thread(facts, labels[i - 1]));
}

static struct hot_path path_of(const struct facts *facts)
{
	struct hot_path path = {.nr = 0};
	uint32_t labels[PATH_LONGEST];
	size_t nr = hot_path_find(facts->cpu, labels, PATH_LONGEST);

	for (size_t i = nr; i-- > 0 && path.nr < PATH_NAMES;) {
		if (!is_worth_naming(facts, labels, i))
			continue;
		if (!path.nr)
			path.total = hot_path_sum(facts->cpu, i + 1);
		memmove(path.labels + 1, path.labels, path.nr * sizeof(path.labels[0]));
		path.labels[0] = labels[i];
		path.nr++;
	}
	return path;
}

static struct measure measure_path(const struct facts *facts)
{
	struct hot_path path = path_of(facts);

	return measure_of(facts, &path.total);
}

static void append_path(struct buf *out, const struct facts *facts, const struct hot_path *path)
{
	for (size_t i = 0; i < path->nr; i++) {
		buf_append_str(out, i ? " > " : "");
		facts_append_name(out, facts, path->labels[i]);
	}
}

static void describe_path(struct buf *out, const struct facts *facts)
{
	struct hot_path path = path_of(facts);

	append_percent(out, tally_percent(&path.total, &facts->cpu->total));
	buf_append_str(out, "% below ");
	append_path(out, facts, &path);
}

static void command_path(struct buf *out, const struct facts *facts)
{
	struct hot_path path = path_of(facts);
	uint32_t last = path.labels[path.nr - 1];
	struct buf word = {0};

	if (label_is_script(facts->expansion, last))
		buf_append_str(out, "report --by script");
	else if (facts_append_word(&word, facts, last))
		buf_printf(out, "report --callees %s", buf_str(&word));
	else
		buf_append_str(out, "report --tree");
	buf_release(&word);
}

static void prove_path(struct verdict *verdict, const struct facts *facts)
{
	struct hot_path path = path_of(facts);
	struct measure measure = measure_of(facts, &path.total);
	struct buf text = {0};

	buf_append_str(&text, "below ");
	append_path(&text, facts, &path);
	evidence_add(verdict, measure.percent, measure.interval, &text);
	prove_functions(verdict, facts);
}

const struct rule_functions rule_path = {measure_path, describe_path, command_path, prove_path};

/* --- threads that wait for a CPU --- */

/* If CPUs were idle for so much of the time, others are not what threads waited for. */
#define IDLE_PERCENT 25

static uint64_t capacity_ns(const struct facts *facts)
{
	return facts->elapsed_ns * facts->profile->meta.nr_cpus;
}

static bool has_the_cpus(const struct facts *facts)
{
	return capacity_ns(facts) &&
	       100 * (double)facts->cpu_ns >= OWN_PERCENT * (double)capacity_ns(facts);
}

/*
 * Of a program that hardly runs, waits for a CPU are a part of what it waits for: the share is of
 * half the elapsed time at least.
 */
static struct measure measure_waiting(const struct facts *facts, bool is_own)
{
	uint64_t whole_ns = max_u64(facts->cpu_ns + facts->runq_ns, facts->elapsed_ns / 2);

	if (!facts->profile->meta.nr_cpus)
		return measure_missing("the number of CPUs is not known");
	if (has_the_cpus(facts) != is_own)
		return measure_exact(0, 1);
	return measure_exact(facts->runq_ns, whole_ns);
}

static struct measure measure_threads(const struct facts *facts)
{
	return measure_waiting(facts, true);
}

static void describe_threads(struct buf *out, const struct facts *facts)
{
	const struct profile_meta *meta = &facts->profile->meta;
	double wanted = facts->elapsed_ns ? (double)(facts->cpu_ns + facts->runq_ns) /
						    (double)facts->elapsed_ns
					  : 0;

	buf_printf(out, "%.1f threads at a time for %u CPU%s", wanted, meta->nr_cpus,
		   meta->nr_cpus == 1 ? "" : "s");
}

static void command_runq(struct buf *out, const struct facts *facts)
{
	(void)facts;
	buf_append_str(out, "report -m runq --by thread");
}

static void prove_threads(struct verdict *verdict, const struct facts *facts)
{
	struct measure had = measure_exact(facts->cpu_ns, capacity_ns(facts));
	struct buf text = {0};

	buf_append_str(&text, "of the time of all CPUs its threads had");
	evidence_add(verdict, had.percent, had.interval, &text);
	had = measure_exact(facts->runq_ns, facts->cpu_ns + facts->runq_ns);
	buf_append_str(&text, "of the time in which threads could run they waited for a CPU");
	evidence_add(verdict, had.percent, had.interval, &text);
}

const struct rule_functions rule_threads = {measure_threads, describe_threads, command_runq,
					    prove_threads};

static struct measure measure_others(const struct facts *facts)
{
	return measure_waiting(facts, false);
}

static void describe_others(struct buf *out, const struct facts *facts)
{
	struct buf text = {0};

	append_weight(out, METRIC_WALL, facts->runq_ns);
	if (machine_append(&text, facts->profile)) {
		buf_printf(out, " waiting for a CPU: %s", buf_str(&text));
		if (machine_idle_percent(facts->profile) >= IDLE_PERCENT)
			buf_append_str(out, "; a limit kept it from the idle ones");
	} else {
		buf_append_str(out,
			       " waiting for a CPU, which others had, or a limit kept from it");
	}
	buf_release(&text);
}

const struct rule_functions rule_others = {measure_others, describe_others, command_runq,
					   prove_threads};

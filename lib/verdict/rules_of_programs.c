// SPDX-License-Identifier: GPL-2.0-or-later
/* Rules about processes and memory. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/leaks.h"
#include "calltree/observe.h"
#include "calltree/pairs.h"
#include "calltree/wait_function.h"
#include "profile/heap.h"
#include "profile/profile.h"
#include "profile/short_lives.h"
#include "profile/tasks.h"
#include "verdict/rule_priv.h"
#include "verdict/verdict.h"
#include "view/number.h"

/* --- processes that live for a short time --- */

/* A process that lived for less is short. */
#define SHORT_LIFE_NS (100 * NS_PER_MS)
/* Fewer short processes, in all or in a second, are no finding. */
#define LEAST_A_SECOND 20
#define NR_NAMES       3

/* Does the row have the time of the processes that no tick has found? */
static bool is_rest(const struct facts *facts, const struct profile_process *process)
{
	return process_is_unseen(facts->profile, process);
}

/*
 * Did the process live for a short time, and end in what is selected? The recorded command itself
 * does not count.
 */
static bool is_short(const struct facts *facts, const struct profile_process *process)
{
	if (is_rest(facts, process))
		return facts->selection->everything;
	return process->parent != PROCESS_NONE && process->end_ns && process->start_ns &&
	       process->end_ns - process->start_ns < SHORT_LIFE_NS &&
	       process->end_ns >= facts->selection->from_ns &&
	       process->end_ns <= facts->selection->to_ns;
}

struct short_processes {
	uint64_t nr, nr_unseen; /* nr_unseen: as many of them ended before a sample, about */
	uint64_t cpu_ns;
};

static struct short_processes short_processes_of(const struct facts *facts)
{
	const struct profile *profile = facts->profile;
	struct short_processes sum = {0};

	for (size_t i = 0; i < profile->nr_processes; i++) {
		const struct profile_process *process = &profile->processes[i];

		if (!is_short(facts, process))
			continue;
		sum.cpu_ns += facts->of_process[i].all.weight;
		sum.nr += is_rest(facts, process) ? process->nr_unseen
						  : !profile_process_is_exec(profile, i);
		sum.nr_unseen += process->nr_unseen;
	}
	return sum;
}

static struct measure measure_processes(const struct facts *facts)
{
	struct short_processes sum = short_processes_of(facts);
	uint64_t duration_ns = facts->elapsed_ns;

	if (sum.nr < LEAST_A_SECOND ||
	    (double)sum.nr * (double)NS_PER_SEC < LEAST_A_SECOND * (double)duration_ns)
		return measure_exact(0, 1);
	return measure_exact(sum.cpu_ns, facts->work.weight);
}

struct name_count {
	struct str_id name;
	uint64_t nr;
};

static int more_first(const void *left, const void *right)
{
	const struct name_count *a = left, *b = right;

	if (a->nr != b->nr)
		return a->nr < b->nr ? 1 : -1;
	return (a->name.v > b->name.v) - (a->name.v < b->name.v);
}

/* ": 400 awk, 400 cut": the most frequent names of short processes. */
static void append_names(struct buf *out, const struct facts *facts)
{
	const struct profile *profile = facts->profile;
	struct name_count *names = xcalloc(profile->nr_processes + 1, sizeof(*names));
	uint32_t *of_text = xcalloc(strtab_nr(profile->strings), sizeof(*of_text));
	size_t nr = 0;

	for (size_t i = 0; i < profile->nr_processes; i++) {
		struct str_id name = profile->processes[i].name;

		if (!is_short(facts, &profile->processes[i]) ||
		    is_rest(facts, &profile->processes[i]))
			continue;
		if (!of_text[name.v]) {
			names[nr].name = name;
			of_text[name.v] = (uint32_t)++nr;
		}
		names[of_text[name.v] - 1].nr++;
	}
	if (nr)
		qsort(names, nr, sizeof(*names), more_first);
	for (size_t i = 0; i < nr && i < NR_NAMES; i++) {
		buf_append_str(out, i ? ", " : ": ");
		append_count(out, names[i].nr);
		buf_append_byte(out, ' ');
		facts_append_text(out, profile_str(profile, names[i].name));
	}
	free(of_text);
	free(names);
}

struct forks {
	const struct facts *facts;
	struct pairs times; /* by name of a process: functions; CPU time in calls that fork */
};

static void add_forks(struct forks *forks)
{
	const struct facts *facts = forks->facts;
	const struct profile *profile = facts->profile;
	struct observation_walk walk;
	struct observation observation;

	observation_walk_init(&walk, facts->selection, METRIC_CPU);
	while (observation_walk_next(&walk, &observation)) {
		const struct sample *sample = &observation.sample;
		uint32_t process = profile->threads[sample->thread.v].process, function;

		if (!observation.weight || sample->kind != SAMPLE_RUNNING ||
		    !facts_is_fork(facts, sample->syscall_nr))
			continue;
		function = facts->wait_functions[sample->stack.v];
		if (function != WAIT_FUNCTION_NONE)
			pairs_add(&forks->times, profile->processes[process].name.v, function,
				  observation.weight);
	}
	observation_walk_release(&walk);
}

/* "; most by slow.sh: command_substitute": the function that spends most time in fork(2). */
static void append_forker(struct buf *out, const struct facts *facts)
{
	struct forks forks = {.facts = facts};
	const struct pair *most = NULL;

	if (facts->wait_functions)
		add_forks(&forks);
	for (size_t i = 0; i < forks.times.nr; i++) {
		if (!most || forks.times.rows[i].amount > most->amount)
			most = &forks.times.rows[i];
	}
	if (most) {
		buf_append_str(out, "; most by ");
		facts_append_text(out, profile_str(facts->profile, (struct str_id){most->a}));
		buf_append_str(out, ": ");
		facts_append_name(out, facts, most->b);
	}
	pairs_release(&forks.times);
}

static void describe_processes(struct buf *out, const struct facts *facts)
{
	struct short_processes sum = short_processes_of(facts);

	append_count(out, sum.nr);
	buf_append_str(out, " processes that lived for less than 0.1 s (");
	append_rate(out, sum.nr, facts->elapsed_ns);
	buf_append_str(out, "/s)");
	append_names(out, facts);
	if (sum.nr_unseen) {
		buf_append_str(out, "; ~");
		append_count(out, sum.nr_unseen);
		buf_append_str(out, " ended before a sample");
	}
	append_forker(out, facts);
}

static void command_processes(struct buf *out, const struct facts *facts)
{
	(void)facts;
	buf_append_str(out, "report --by process");
}

static void prove_processes(struct verdict *verdict, const struct facts *facts)
{
	struct short_processes sum = short_processes_of(facts);
	struct measure measure = measure_exact(sum.cpu_ns, facts->cpu_ns);
	struct buf text = {0};

	buf_append_str(&text, "of the CPU time is that of these processes");
	evidence_add(verdict, measure.percent, measure.interval, &text);
}

const struct rule_functions rule_processes = {measure_processes, describe_processes,
					      command_processes, prove_processes};

/* --- memory that grows --- */

/* Less memory is no finding. */
#define LEAST_BYTES (1 << 20)
/*
 * Memory grows if this part of it was allocated in the second half of the recording: of memory that
 * grows steadily a half was, of memory that is kept from the beginning nothing.
 */
#define LATE_PART 4

static struct leaks *leaks_of(const struct facts *facts)
{
	return leaks_new(facts->selection, &(struct leaks_request){.by = LEAKS_BY_PROGRAM});
}

static bool grows(const struct leaks *leaks)
{
	const struct leak *leak = leaks->rows;

	return leaks->nr && leak->tally.weight >= LEAST_BYTES &&
	       LATE_PART * leak->late_bytes >= leak->tally.weight;
}

static struct measure measure_growth(const struct facts *facts)
{
	struct measure measure = {0};
	struct leaks *leaks;

	if (!profile_has_heap(facts->profile))
		return measure_missing("memory was not recorded (--mem)");
	leaks = leaks_of(facts);
	if (grows(leaks)) {
		measure.percent = tally_percent(&leaks->rows[0].tally, &leaks->total);
		measure.interval = tally_interval(&leaks->rows[0].tally, &leaks->total);
	}
	leaks_free(leaks);
	return measure;
}

/* Programs have functions of their own around malloc(3): zmalloc, xcalloc, g_strdup. */
static bool is_allocator(const struct facts *facts, uint32_t label)
{
	struct buf name = {0};
	bool is_one;

	label_append_name(&name, facts->expansion, label, NAME_SHORT);
	is_one = strcasestr(buf_str(&name), "alloc") || strstr(buf_str(&name), "strdup") ||
		 strncmp(buf_str(&name), "operator new", strlen("operator new")) == 0;
	buf_release(&name);
	return is_one;
}

/* The innermost level up to `at` that is not an allocator's; or `at`, if there is none. */
static size_t outside_allocators(const struct facts *facts, const struct level_list *list,
				 size_t at)
{
	for (size_t i = at + 1; i-- > 0;) {
		if (!is_allocator(facts, list->levels[i].label))
			return i;
	}
	return at;
}

/* The function of a script in whose native code a level is, or the level itself. */
static size_t script_level_of(const struct facts *facts, const struct level_list *list, size_t at)
{
	for (size_t i = at + 1; i-- > 0;) {
		if (label_is_script(facts->expansion, list->levels[i].label))
			return i;
	}
	return at;
}

/*
 * "replicationFeedMonitors > addReplyToList": what allocated, and its caller if that is known. Of
 * an interpreter's own functions that is the function that it ran.
 */
static void append_allocating(struct buf *out, const struct facts *facts, const struct leaks *leaks,
			      const struct leak *leak)
{
	uint32_t function = facts->wait_functions[leak->sample.stack.v];
	struct level_list list = {0};
	size_t at;

	leak_stack(leaks, leak, &list);
	for (at = list.nr - 1; at > 0 && list.levels[at].label != function; at--)
		;
	if (list.levels[at].label != function)
		at = list.nr - 1;
	at = script_level_of(facts, &list, outside_allocators(facts, &list, at));
	if (at > 0 && label_is_code(facts->expansion, list.levels[at - 1].label) &&
	    !label_is_nameless(facts->expansion, list.levels[at - 1].label) &&
	    list.levels[at - 1].label != list.levels[at].label &&
	    !facts_is_beginning(facts, list.levels[at - 1].label)) {
		facts_append_name(out, facts, list.levels[at - 1].label);
		buf_append_str(out, " > ");
	}
	facts_append_name(out, facts, list.levels[at].label);
	level_list_release(&list);
}

static void append_leak(struct buf *out, const struct facts *facts, const struct leaks *leaks,
			const struct leak *leak)
{
	append_weight(out, METRIC_LEAKED, leak->tally.weight);
	buf_append_str(out, " not freed, allocated by ");
	append_allocating(out, facts, leaks, leak);
	buf_append_str(out, ", growing by ");
	append_memory(out, (uint64_t)leak_growth(leaks, leak));
	buf_append_str(out, "/s");
}

static void describe_growth(struct buf *out, const struct facts *facts)
{
	struct leaks *leaks = leaks_of(facts);

	append_leak(out, facts, leaks, leaks->rows);
	leaks_free(leaks);
}

static void command_growth(struct buf *out, const struct facts *facts)
{
	(void)facts;
	buf_append_str(out, "report --leaks");
}

static void prove_growth(struct verdict *verdict, const struct facts *facts)
{
	struct leaks *leaks = leaks_of(facts);

	for (size_t i = 0; i < leaks->nr && i < 3; i++) {
		struct buf text = {0};

		append_leak(&text, facts, leaks, &leaks->rows[i]);
		evidence_add(verdict, tally_percent(&leaks->rows[i].tally, &leaks->total),
			     tally_interval(&leaks->rows[i].tally, &leaks->total), &text);
	}
	leaks_free(leaks);
}

const struct rule_functions rule_growth = {measure_growth, describe_growth, command_growth,
					   prove_growth};

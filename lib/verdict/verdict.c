// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of rules, and the choice among those that fire. */
#include "verdict/verdict.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"
#include "profile/profile.h"
#include "verdict/rule_priv.h"
#include "view/number.h"

/* The rules of a group explain the same time: the first of them that fires counts. */
enum rule_group {
	GROUP_MEMORY, /* the user asked for it: it counts before all others */
	GROUP_LOCKS,
	GROUP_KERNEL,
	GROUP_CPU,
	GROUP_MACHINE, /* says only where time passes: it counts if no other group has fired */
	GROUP_COUNT,
};

struct rule {
	const char *name, *subject;
	enum rule_group group;
	/* In percent, of the work unless `functions` measure another share. */
	double threshold;
	enum metric metric;
	const struct rule_functions *functions;
};

/*
 * The thresholds: a quarter of the work is worth a look whatever else there is. A path says less
 * than a function, and half of all CPU time has to be below it; if there are twice as many busy
 * threads as CPUs, half of them wait.
 */
static const struct rule rules[VERDICT_RULE_COUNT] = {
	[VERDICT_GROWTH] = {"growth", "memory that is not freed and grows", GROUP_MEMORY, 25,
			    METRIC_LEAKED, &rule_growth},
	[VERDICT_LOCK] = {"lock", "waits for one lock", GROUP_LOCKS, 25, METRIC_BLOCKED,
			  &rule_lock},
	[VERDICT_POLLING] = {"polling", "sleeps for a moment, again and again", GROUP_KERNEL,
			     POLLING_PERCENT, METRIC_WALL, &rule_polling},
	[VERDICT_CALL] = {"call", "time in one system call", GROUP_KERNEL, 25, METRIC_WALL,
			  &rule_call},
	[VERDICT_DESCRIPTOR] = {"descriptor", "blocked on one file, pipe or socket", GROUP_KERNEL,
				25, METRIC_BLOCKED, &rule_descriptor},
	[VERDICT_CHILD] = {"child", "waits for a child that was not recorded", GROUP_KERNEL, 25,
			   METRIC_BLOCKED, &rule_child},
	[VERDICT_PROCESSES] = {"processes", "processes that live for less than 0.1 s", GROUP_CPU,
			       25, METRIC_CPU, &rule_processes},
	[VERDICT_POOL] = {"pool", "CPU time of a pool whose threads all had work", GROUP_CPU, 25,
			  METRIC_CPU, &rule_pool},
	[VERDICT_FAULTS] = {"faults", "CPU time in page faults", GROUP_CPU, FAULTS_PERCENT,
			    METRIC_CPU, &rule_faults},
	[VERDICT_FUNCTION] = {"function", "CPU time in one function", GROUP_CPU, 25, METRIC_CPU,
			      &rule_function},
	[VERDICT_PATH] = {"path", "CPU time below one path of calls", GROUP_MACHINE, 50, METRIC_CPU,
			  &rule_path},
	[VERDICT_THREADS] = {"threads", "more busy threads than CPUs", GROUP_MACHINE, 50,
			     METRIC_RUNQ, &rule_threads},
	[VERDICT_OTHERS] = {"others", "waits for a CPU that others had", GROUP_MACHINE, 50,
			    METRIC_RUNQ, &rule_others},
};

static char *taken_text(struct buf *text)
{
	char *taken = xstrdup(buf_str(text));

	buf_release(text);
	return taken;
}

static void judge(struct verdict_finding *finding, const struct rule *rule,
		  const struct facts *facts)
{
	struct measure measure = rule->functions->measure(facts);
	struct buf text = {0}, words = {0};

	*finding = (struct verdict_finding){.state = VERDICT_BELOW,
					    .percent = measure.percent,
					    .interval = measure.interval,
					    .threshold = rule->threshold,
					    .metric = rule->metric,
					    .name = rule->name,
					    .subject = rule->subject,
					    .missing = measure.missing};
	if (measure.missing)
		finding->state = VERDICT_UNKNOWN;
	if (measure.missing || measure.percent - measure.interval <= rule->threshold)
		return;
	finding->state = VERDICT_FIRED;
	rule->functions->describe(&text, facts);
	rule->functions->command(&words, facts);
	finding->text = taken_text(&text);
	finding->words = taken_text(&words);
}

/* The first rule of a group that fires, or VERDICT_NONE. */
static enum verdict_rule first_of(const struct verdict *verdict, enum rule_group group)
{
	for (int i = 0; i < VERDICT_RULE_COUNT; i++) {
		if (rules[i].group == group && verdict->findings[i].state == VERDICT_FIRED)
			return (enum verdict_rule)i;
	}
	return VERDICT_NONE;
}

static double least_share(const struct verdict *verdict, enum verdict_rule rule)
{
	return verdict->findings[rule].percent - verdict->findings[rule].interval;
}

static enum verdict_rule choose(const struct verdict *verdict)
{
	enum verdict_rule best = first_of(verdict, GROUP_MEMORY);

	if (best != VERDICT_NONE)
		return best;
	for (int group = GROUP_LOCKS; group < GROUP_MACHINE; group++) {
		enum verdict_rule rule = first_of(verdict, (enum rule_group)group);

		if (rule != VERDICT_NONE &&
		    (best == VERDICT_NONE ||
		     least_share(verdict, rule) > least_share(verdict, best)))
			best = rule;
	}
	return best == VERDICT_NONE ? first_of(verdict, GROUP_MACHINE) : best;
}

/* Smaller parts are left out of the line. */
#define WORTH_SAYING_PERCENT 0.5

static void append_part(struct buf *out, uint64_t part, uint64_t whole, const char *words,
			bool *is_first)
{
	double percent = measure_exact(part, whole).percent;

	if (percent < WORTH_SAYING_PERCENT)
		return;
	buf_append_str(out, *is_first ? ": " : ", ");
	append_percent(out, percent);
	buf_printf(out, "%% %s", words);
	*is_first = false;
}

/* "15.2 s: 0.6% on a CPU, 10.6% waiting for one, 88.8% blocked" */
static char *state_text(const struct facts *facts)
{
	uint64_t whole = facts->cpu_ns + facts->runq_ns + facts->blocked_ns;
	struct buf text = {0};
	bool is_first = true;

	append_weight(&text, METRIC_WALL, facts->elapsed_ns);
	append_part(&text, facts->cpu_ns, whole, "on a CPU", &is_first);
	append_part(&text, facts->runq_ns, whole, "waiting for one", &is_first);
	append_part(&text, facts->blocked_ns, whole, "blocked", &is_first);
	return taken_text(&text);
}

struct verdict *verdict_new(const struct selection *selection)
{
	struct weights *cpu = weights_new(selection, METRIC_CPU);
	struct verdict *verdict = verdict_of_weights(cpu, NULL);

	weights_free(cpu);
	return verdict;
}

struct verdict *verdict_of_weights(const struct weights *cpu, const struct flat *functions)
{
	struct verdict *verdict = xcalloc(1, sizeof(*verdict));
	struct facts facts;

	facts_init(&facts, cpu, functions);
	for (int i = 0; i < VERDICT_RULE_COUNT; i++)
		judge(&verdict->findings[i], &rules[i], &facts);
	verdict->state = state_text(&facts);
	verdict->rule = choose(verdict);
	if (verdict->rule != VERDICT_NONE)
		rules[verdict->rule].functions->prove(verdict, &facts);
	facts_release(&facts);
	return verdict;
}

struct verdict *verdict_of_profile(const struct profile *profile)
{
	const struct filter everything = {.from_ns = 0};
	struct expansion *expansion = expansion_new_of_samples(profile);
	struct verdict *verdict = NULL;
	struct selection *selection;

	/* A filter without patterns cannot be wrong. */
	if (selection_new(expansion, &everything, &selection, NULL) == 0) {
		verdict = verdict_new(selection);
		selection_free(selection);
	}
	assert(verdict);
	expansion_free(expansion);
	return verdict;
}

void verdict_free(struct verdict *verdict)
{
	if (!verdict)
		return;
	for (int i = 0; i < VERDICT_RULE_COUNT; i++) {
		free(verdict->findings[i].text);
		free(verdict->findings[i].words);
	}
	for (size_t i = 0; i < verdict->nr_evidence; i++)
		free(verdict->evidence[i].text);
	free(verdict->state);
	free(verdict);
}

const struct verdict_finding *verdict_first(const struct verdict *verdict)
{
	return verdict->rule == VERDICT_NONE ? NULL : &verdict->findings[verdict->rule];
}

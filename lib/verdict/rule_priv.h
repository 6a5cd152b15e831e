/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of rules, and the measures that they share. */
#ifndef PROFC_VERDICT_RULE_PRIV_H
#define PROFC_VERDICT_RULE_PRIV_H

#include <stdbool.h>

#include "profile/metric.h"
#include "profile/profile.h"
#include "verdict/facts_priv.h"

struct buf;
struct tally;
struct verdict;

/*
 * The share that a rule is about, and the half of its interval, in percent of the work. `missing`
 * is the reason why it is not known, or NULL.
 */
struct measure {
	double percent, interval;
	const char *missing;
};

struct measure measure_of(const struct facts *facts, const struct tally *part);
struct measure measure_missing(const char *why);
/* A share that is known exactly. */
struct measure measure_exact(uint64_t part, uint64_t whole);

/* Add a fact below the verdict, if there is room. The text is taken and released. */
void evidence_add(struct verdict *verdict, double percent, double interval, struct buf *text);

/*
 * The steps of a rule. Only `measure` is called for a rule that did not fire. `describe` appends
 * the finding, `command` the words after `profc`; `prove` adds evidence.
 */
struct rule_functions {
	struct measure (*measure)(const struct facts *facts);
	void (*describe)(struct buf *out, const struct facts *facts);
	void (*command)(struct buf *out, const struct facts *facts);
	void (*prove)(struct verdict *verdict, const struct facts *facts);
};

/* Is it where a program or a thread begins, in which all of its time is? */
bool facts_is_beginning(const struct facts *facts, uint32_t label);

/* The thresholds of rules that notes below tables apply as well, in percent. */
#define POLLING_PERCENT 25
#define FAULTS_PERCENT	25

/* The share of its life that a polling thread slept, in percent; 0 if the thread does not poll. */
double polling_percent(const struct facts *facts, size_t row);
void append_polling(struct buf *out, const struct facts *facts, size_t row);

/*
 * The least share of the CPU time that page faults took, in percent; below 0 if they may have taken
 * none. `split` is the sum of `nr` known splits.
 */
double faults_percent(const struct cpu_split *split, size_t nr, const struct cpu_fact *cpu);
/* "1.30 s of CPU time in 1,300,000 page faults (650,000/s)" */
void append_faults(struct buf *out, const struct cpu_split *split, const struct tally *in_calls,
		   uint64_t life_ns);

/*
 * Append `before` and "59.5% in sscanf > __rawmemchr", of the function with the most CPU time;
 * nothing if none is known.
 */
void append_hottest(struct buf *out, const char *before, const struct facts *facts);
/* Add the functions with the most CPU time as evidence. */
void prove_functions(struct verdict *verdict, const struct facts *facts);

extern const struct rule_functions rule_polling, rule_faults, rule_growth, rule_lock, rule_call,
	rule_descriptor, rule_child, rule_processes, rule_pool, rule_function, rule_path,
	rule_threads, rule_others;

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A `profc whatif`: options, trials in a process, and runs of a command. */
#ifndef PROFC_CMD_WHATIF_PRIV_H
#define PROFC_CMD_WHATIF_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/end_listener.h"
#include "cmd/whatif_functions.h"
#include "holding/experiment.h"
#include "roster/attached.h"
#include "tracee/launch.h"
#include "whatif/plan.h"

struct counting;
struct err;
struct live;
struct profile;
struct record_options;
struct whatif_args;

/* The program's progress. */
enum whatif_measure {
	WHATIF_WRITTEN, /* the bytes that it writes */
	WHATIF_CALLS,	/* of a function */
	WHATIF_RUNS,	/* its end: it is run again and again */
	WHATIF_LATENCY, /* the result is the time between two functions */
};

struct whatif_settings {
	struct record_options *record; /* borrowed, as all here */
	enum whatif_measure measure;
	const char *function; /* CALLS: a regular expression; LATENCY: "BEGIN:END" */
	double max_slowdown;  /* a part */
	size_t limit;	      /* functions to be tried */
	enum name_style names;
};

/* WHATIF_RUNS. */
struct whatif_runs {
	off_t input_at;			  /* of standard input, which each has; -1: none */
	int first_status;		  /* as of waitpid(2) */
	bool is_failed;			  /* the status of a run is that of profc */
	const struct whatif_trial *trial; /* of the current one; NULL: it is a baseline */
};

struct whatif {
	struct whatif_args *args; /* the rest of the options, for whatif.c */
	struct whatif_settings settings;
	char **argv; /* NULL: attached */
	struct attached attached;
	struct child_signals former_signals;
	struct end_listener listener;
	struct counting *counting; /* NULL: nothing is counted */
	struct live *live;
	pid_t pid; /* of RUNS: the current one */
	uint64_t begun_ns, end_ns;
	struct profile *profile; /* owned */
	struct whatif_candidates candidates;
	struct whatif_plan plan;
	struct experiment *experiment;
	struct whatif_window baselines; /* the sum of all */
	uint64_t nr_trials;
	const char *cut_short; /* as of whatif_facts */
	int status;	/* of the command, as of waitpid(2); of RUNS, of the first that failed */
	bool is_reaped; /* the command, or the current run */
	struct whatif_runs runs;
};

/* Sample the process until then, or its end, or the user asks for the end. False: it goes on. */
bool whatif_sample(struct whatif *whatif, uint64_t length_ns);
/* Which functions are to be tried, by what was sampled. `pid` as in struct whatif_request. */
int whatif_choose(struct whatif *whatif, pid_t pid, struct err *err);
/* On a terminal, before a trial. */
void whatif_show_trial(const struct whatif *whatif, const struct whatif_trial *trial);
/* The function to be made faster; in a baseline, without a trial, there is none. */
struct experiment_function whatif_trial_function(const struct whatif *whatif,
						 const struct whatif_trial *trial);
/* Just after a window that was cut short: why there can be no more windows. */
const char *whatif_why_cut_short(const struct whatif *whatif);
/* The same as an error, for a cut before the end of the first trial. */
int whatif_refuse_cut(const struct whatif *whatif, struct err *err);
void whatif_add_baseline(struct whatif *whatif, const struct whatif_window *window);

/* WHATIF_LATENCY, for experiment_options: the number of requests inside, and of those that ended.
 */
int64_t whatif_latency_inside(void *context);
uint64_t whatif_latency_ended(const struct whatif *whatif);
/* "time from begin_request to end_request"; the caller frees it. */
char *whatif_latency_text(const struct whatif *whatif);
/* Is each of the two one function, the calls of which are counted? */
int whatif_latency_check(const struct whatif *whatif, struct err *err);
/* After a first baseline: can the time be told? Else the errors of whatif_latency_begin(). */
bool whatif_latency_can_begin(struct whatif *whatif, const struct whatif_window *window);
int whatif_latency_begin(struct whatif *whatif, const struct whatif_window *window,
			 struct err *err);
/* After each window: a smaller number inside is the end of all results up to now. */
void whatif_latency_note(struct whatif *whatif, const struct whatif_window *window);
/* Sample the running process, and experiment with it. */
int whatif_try_process(struct whatif *whatif, struct err *err);
/* Before the command is started: see to it that each run has the same standard input. */
void whatif_keep_input(struct whatif *whatif);
/*
 * The command was started: sample this run of it, and experiment with more. On return the last one
 * may still run.
 */
int whatif_try_runs(struct whatif *whatif, struct err *err);
/* Wait for the command, or the current run of it. */
void whatif_wait_for_command(struct whatif *whatif);

#endif

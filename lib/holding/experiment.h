/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_HOLDING_EXPERIMENT_H
#define PROFC_HOLDING_EXPERIMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct whatif_window;

/*
 * Experiments with a running process: for a time a function seems to be faster, as all threads that
 * are not in it are held meanwhile (whatif/accounts.h).
 */
struct experiment;

/* Addresses [start, end) in the process. */
struct experiment_range {
	uint64_t start, end;
};

/* The function is to be faster by `part`, 0 to 1. */
struct experiment_function {
	const struct experiment_range *ranges; /* borrowed */
	size_t nr_ranges;
	double part;
};

struct experiment_options {
	pid_t pid;	     /* 0: experiment_aim() comes first */
	double max_slowdown; /* a part of any second; 0: any */
	/*
	 * How far the program has come. By a thread of ours, while a window is run. NULL: it is run
	 * to its end only.
	 */
	uint64_t (*progress)(void *context);
	/*
	 * The number of requests inside (whatif/flow.h), likewise, at each look. NULL: it is not
	 * wanted.
	 */
	int64_t (*inside)(void *context);
	/*
	 * The process may have more code by now: bring the ranges up to date. By the same thread,
	 * where it is run to its end. NULL: they stay.
	 */
	void (*refresh)(void *context, struct experiment_function *function);
	void *context;
	const atomic_bool *ended; /* borrowed: ends a window early */
};

struct experiment *experiment_new(const struct experiment_options *options, struct err *err);
/* Lets all threads go. */
void experiment_free(struct experiment *experiment);

/* Let the former process go, and experiment with another one. ERR_GONE: it has ended. 0: none. */
int experiment_aim(struct experiment *experiment, pid_t pid, struct err *err);

/* False: the process has ended, or the user has asked for the end. */
bool experiment_run(struct experiment *experiment, const struct experiment_function *function,
		    uint64_t length_ns, struct whatif_window *window);
/*
 * From now to the end of the process, which is progress of 1. False: it has not ended by until_ns,
 * or the user has asked for the end.
 */
bool experiment_run_to_end(struct experiment *experiment,
			   const struct experiment_function *function, uint64_t until_ns,
			   struct whatif_window *window);

struct experiment_counts {
	uint64_t nr_holds;
	uint64_t real_ns, virtual_ns;
	uint64_t nr_sleeps, nr_undecided; /* whether what wakes them is inside is not known */
	/* Looks at running threads, and those that did not stop them, as they make transfers. */
	uint64_t nr_running, nr_spared;
	size_t nr_threads; /* the most at once */
	bool is_reaped;	   /* a visit has reaped the process that is let go, with this status */
	int status;
};

struct experiment_counts experiment_counts(struct experiment *experiment);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_WHATIF_PLAN_H
#define PROFC_WHATIF_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "whatif/flow.h"

/*
 * Which experiment comes next, and what they all say. A trial makes one function faster by a part
 * for a time; before and after each there is a baseline, in which threads are stopped as often and
 * nothing is faster. So whatever changes slowly is in both.
 */
#define WHATIF_NR_SPEEDS 5
extern const double whatif_speeds[WHATIF_NR_SPEEDS]; /* 0.1 ... 1, ascending */

/* Measured in a trial or a baseline. */
struct whatif_window {
	uint64_t progress;
	uint64_t virtual_ns; /* without what was held */
	uint64_t real_ns;
	uint64_t refused_ns;	     /* as of struct whatif_accounts */
	uint64_t late_ns;	     /* at its end a thread still owed so much */
	struct whatif_flow flows[2]; /* of its halves, where the number inside is asked for */
};

/* Progress, and seconds without what was held: of a trial, and of the baselines beside it. */
struct whatif_pair {
	double progress, s;
	double base_progress, base_s;
	double time_ns, base_time_ns; /* of requests: the mean time of one inside */
};

/* Times as much progress by the clock without holds. */
double whatif_pair_load(const struct whatif_pair *pair);

/* A function at one speed. */
struct whatif_point {
	struct whatif_pair *pairs; /* owned */
	size_t nr, cap;
	unsigned int nr_refused;  /* trials that would have slowed the program down too much */
	unsigned int nr_late;	  /* where threads could not be held in time: they have no result */
	unsigned int nr_drifting; /* more and more requests stay inside, or fewer: likewise */
	bool is_of_time;	  /* less is better */
};

struct whatif_function {
	struct whatif_point points[WHATIF_NR_SPEEDS];
};

struct whatif_plan {
	struct whatif_function *functions; /* owned */
	size_t nr_functions;
	uint64_t random;
	double most_percent; /* that a gain may be uncertain by, at the end */
	bool is_of_time;     /* the time of a request inside is the result, not the progress */
	int64_t none;	     /* the number that stands for no request inside */
};

void whatif_plan_init(struct whatif_plan *plan, size_t nr_functions, uint64_t seed);
/*
 * The result is the time of a request inside; progress is the requests that end. Once a smaller
 * number is seen for none, all that was measured is forgotten.
 */
void whatif_plan_time_requests(struct whatif_plan *plan, int64_t none);
void whatif_plan_release(struct whatif_plan *plan);

struct whatif_trial {
	size_t function, speed;
};

/* Is there no mean time, as ever more requests stay inside, or fewer, or for most of the window? */
bool whatif_plan_drifts(const struct whatif_plan *plan, const struct whatif_window *window);
/* The mean time of a request inside; 0: none has ended. */
double whatif_window_time_ns(const struct whatif_window *window, int64_t none);

/* The next one; false: all gains are known well enough, or cannot be tried. */
bool whatif_plan_next(struct whatif_plan *plan, struct whatif_trial *trial);
void whatif_plan_add(struct whatif_plan *plan, const struct whatif_trial *trial,
		     const struct whatif_window *window, const struct whatif_window *before,
		     const struct whatif_window *after);

/*
 * The program's gain in percent: -50 is half as fast, 100 twice. Of a time, by how much less it is:
 * 50 is half as long.
 */
struct whatif_gain {
	bool is_known;
	double percent;
	double half_percent; /* of its 95% confidence interval */
	bool is_of_time;     /* it is by how much less a time is */
};

struct whatif_gain whatif_point_gain(const struct whatif_point *point);
/* Are there as many trials as a verdict takes? */
bool whatif_point_counts(const struct whatif_point *point);

enum whatif_word {
	WHATIF_UNKNOWN,	  /* too little was measured */
	WHATIF_UNCERTAIN, /* an effect is neither seen nor ruled out */
	WHATIF_NO_EFFECT,
	WHATIF_SLOWER,
	WHATIF_HELPS_UP_TO, /* helps up to a speed, and no more beyond */
	WHATIF_BOTTLENECK,
};

struct whatif_verdict {
	enum whatif_word word;
	struct whatif_gain most; /* the largest one that is not wide; not known with few trials */
	double up_to_percent;	 /* HELPS_UP_TO: the least speed that gains nearly all of it */
};

struct whatif_verdict whatif_function_verdict(const struct whatif_function *function);
/* "helps up to 50%"; at most 40 bytes. */
void whatif_verdict_text(const struct whatif_verdict *verdict, char *out, size_t cap);

#endif

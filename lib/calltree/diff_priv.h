/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of a comparison: matching modules, then rows, then comparing their values. */
#ifndef PROFC_CALLTREE_DIFF_PRIV_H
#define PROFC_CALLTREE_DIFF_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "calltree/diff.h"

struct moderate_row;

/* The modules of one side, with their names in the comparison. */
struct diff_modules {
	const struct diff_side *side; /* borrowed */
	struct str_id *keys;	      /* run after run, each by module_id; owned */
	uint32_t *first;	      /* by run: its first module's index; owned */
	uint32_t nr;
	uint32_t
		main; /* of the program that used most of the time in the first run; 0: not known */
};

/*
 * diff_modules.c: modules with equal keys are partners. Partners are first those with one file
 * name, after renames; of the rest those with names that differ by a hash or a version alone; of
 * the rest the main programs. `names` holds the keys.
 */
void diff_match_modules(struct diff_modules *old_modules, struct diff_modules *new_modules,
			struct strtab *names, struct diff_rename *renames, size_t nr_renames);
void diff_modules_release(struct diff_modules *modules);
/* The new name of an old one; the name itself if it was not renamed. */
const char *diff_renamed(const char *name, struct diff_rename *renames, size_t nr_renames);

/* diff_match.c: at first each row of `diff` is of one side and one run; join equal ones. */
void diff_match_rows(struct diff *diff, struct diff_rename *renames, size_t nr_renames);

/* The compared values: the parts of the totals of both sides, of all runs, and of each. */
struct diff_parts {
	const struct tally *old_part, *new_part;
	const double *values;
};

/* A change, and the standard errors of its estimate. */
struct diff_estimate {
	double change;
	double of_samples;	 /* from samples and, with two runs, from diff.noise */
	double of_runs, freedom; /* from several runs; else 0 */
	bool is_tested;		 /* there are enough samples to judge by */
	double half;
};

/* A row with fewer samples on a side does not show by which factor it changed. */
#define DIFF_RATIO_SAMPLES 4
/* diff_values.c: the mean weight of the runs of a side. */
double diff_mean_total(const struct diff_side *side);
/* diff_values.c: the standard error of a share from its samples, relative to the share. */
double diff_relative_error(const struct tally *part, const struct tally *whole);
/* diff_noise.c: call this once rows are matched. */
struct diff_noise diff_noise_of(const struct diff *diff);
/*
 * diff_values.c: set how the runs of a row differ, from their scaled values. False if a side has
 * too few samples.
 */
bool diff_moderate_row(const struct diff *diff, const struct diff_parts *parts,
		       const double *scaled, struct moderate_row *row);
/*
 * diff_values.c: scale the weights of all runs to percent: with DIFF_SHARES of their own totals,
 * with DIFF_RATES of their own time, else of the old total.
 */
void diff_scale_values(const struct diff *diff, const double *values, double *scaled);
/* The degrees of freedom of the variance of runs about the means of both sides. */
double diff_runs_freedom(const struct diff *diff);
/* diff_change.c: all members but `half`. */
struct diff_estimate diff_estimate_of(const struct diff *diff, const struct diff_parts *parts);
/*
 * diff_judge.c: set `half` of all estimates: of those with a larger change, one in twenty has not
 * changed, in the mean (the false discovery rate). Returns how many standard errors of samples one
 * `half` is.
 */
double diff_judge(struct diff_estimate *estimates, size_t nr);

#endif

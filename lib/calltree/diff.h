/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares two profiles, or several runs with several others. */
#ifndef PROFC_CALLTREE_DIFF_H
#define PROFC_CALLTREE_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/flat.h"
#include "calltree/tally.h"

struct per_call;
struct weights;

/* The compared values. */
enum diff_mode {
	DIFF_AMOUNTS, /* time against time: two runs of the same work */
	DIFF_SHARES,  /* percentages of the total: samples of a long-running process */
	DIFF_RATES,   /* time in percent of the time selected, which may be of any length */
};

/* The exact count of a function on one side, and the time that belongs to it. */
struct diff_calls {
	bool counted;
	uint64_t calls; /* of all runs */
	struct tally called;
};

/* Where a row is on one side: in the table of one of its runs. */
struct diff_at {
	uint32_t run;	/* of diff.flats */
	uint32_t row;	/* or DIFF_NONE: it is not there */
	uint32_t label; /* of that row; DIFF_NONE: it is not there, or has none */
};

#define DIFF_NONE UINT32_MAX

/*
 * How runs of one program differ, estimated from all rows together. With several runs on a side, it
 * is how much rows differ between the runs of one side, beyond what samples explain. With two runs,
 * it is the factor by which most rows changed, and how far rows are from that: fewer than half of
 * the rows are assumed to have changed with the program.
 */
struct diff_noise {
	bool is_known;	     /* there are enough rows */
	bool is_common;	     /* nearly all rows changed by one factor: the machine was slower */
	double factor;	     /* common: that factor; else 1 */
	double factor_error; /* standard error of the logarithm of most rows' factor */
	double spread;	     /* standard deviation of the logarithms of rows' factors */
	double freedom;	     /* several runs: the degrees of freedom of `spread` */
};

/*
 * A function in two profiles. Functions are the same if their full names and modules are, and among
 * several of that name those with the best agreement of source files; if a module is in one profile
 * only, if their full names and source files are. Modules are the same if their file names are, or
 * differ by a hash or a version only ("bench-4e5f6a7b"); so are the programs that used most of the
 * time, whatever their names. Addresses, lines and directories change from build to build.
 *
 * Lines are the same if all this and their numbers are, files and modules like those of functions.
 * Other things, such as threads, are the same if their names are: then they are one row, however
 * many there are.
 */
struct diff_row {
	struct diff_at old_at, new_at;
	struct tally old_self, new_self; /* of all runs */
	struct diff_calls old_calls, new_calls;
	/*
	 * The change and half the width of its confidence interval: in percent of the old total
	 * (DIFF_AMOUNTS) or in percentage points (DIFF_SHARES, DIFF_RATES). For several runs, the
	 * change of their means; for two, the new one's time is divided by noise.factor. Of the
	 * rows with larger changes than `half`, 95% have changed in the mean.
	 */
	double change, half;
	uint32_t values; /* of diff.values, times the number of runs */
};

/* The runs of one side. */
struct diff_side {
	const struct weights *const *runs; /* borrowed */
	size_t nr;
	struct tally total; /* of all of them */
};

struct diff {
	struct diff_side old_side, new_side; /* of the same metric */
	enum diff_mode mode;
	enum dimension by;
	struct diff_row *rows; /* owned; the surest and largest changes first */
	size_t nr, cap;
	struct flat **flats; /* owned; of all runs, the old ones first */
	size_t nr_runs;	     /* on both sides */
	struct diff_noise noise;
	double quantile; /* the standard errors of samples in half an interval */
	double *values;	 /* owned; by row, then run: the weight of self */
	/* By the number that each row had at first: the number of the row that it was joined to. */
	uint32_t *parts; /* owned */
	size_t nr_parts;
};

/* The old name of a module, function or source file, and its name in the new profile. */
struct diff_rename {
	const char *old_name, *new_name; /* borrowed; modules and files by their last component */
	bool used;			 /* set if anything has the old name */
};

struct diff_request {
	const struct weights *const *old_runs, *const *new_runs; /* borrowed by the result */
	size_t nr_old, nr_new;
	enum diff_mode mode;
	enum dimension by;	/* not BY_PID: two runs have no process in common */
	struct label_key label; /* of BY_LABEL; borrowed */
	struct diff_rename *renames;
	size_t nr_renames;
};

struct diff *diff_new(const struct diff_request *request);
void diff_free(struct diff *diff);

/* The weights of the run that has the row. */
const struct weights *diff_weights(const struct diff *diff, const struct diff_at *at);
/* The row's place in the new profile, or else in the old one. */
const struct diff_at *diff_known_at(const struct diff_row *row);
/* The mean weight of a run of a side. */
uint64_t diff_mean(const struct diff_side *side, const struct tally *tally);
/* The time of the runs of a side that is selected. */
uint64_t diff_elapsed_ns(const struct diff_side *side);
/*
 * What a row shows on a side that is compared by shares or rates, in percent: of its total, or of
 * the time of its runs.
 */
double diff_percent(const struct diff *diff, const struct diff_side *side,
		    const struct tally *tally);
/* Is there more than one run on a side? Then intervals are those of their spread, too. */
bool diff_has_runs(const struct diff *diff);

/* Is the change larger than chance in samples and differences between runs explain? */
bool diff_row_is_sure(const struct diff_row *row);
/*
 * The growth of the total (DIFF_RATES: of its rate) in percent, and half the width of its 95%
 * confidence interval. Totals are exact, from the kernel's clocks: the interval comes from the
 * spread of several runs. With two runs, it covers the change by a faster or slower machine; 0 if
 * that is not known.
 */
double diff_total_change(const struct diff *diff);
double diff_total_half(const struct diff *diff);
/* Are both equal to the last nanosecond, as a profile and its copy? */
bool diff_is_none(const struct diff *diff);

/* The mean number of its calls in a run. */
uint64_t diff_mean_calls(const struct diff_side *side, const struct diff_calls *calls);
/* The time of a call on one side; false: unknown. */
bool diff_old_per_call(const struct diff *diff, const struct diff_row *row,
		       struct per_call *per_call);
bool diff_new_per_call(const struct diff *diff, const struct diff_row *row,
		       struct per_call *per_call);
/*
 * The change of the time of a call in percent of the old one, and half the width of its 95%
 * confidence interval. False where it was not measured on both sides.
 */
bool diff_per_call_change(const struct diff *diff, const struct diff_row *row, double *percent,
			  double *half);
/* Was it counted on both sides, with another number of calls, or surely another time per call? */
bool diff_calls_changed(const struct diff *diff, const struct diff_row *row);
/*
 * The rows that were counted on both sides, by index: first those with another number of calls, by
 * the largest factor, then those with another time per call. The caller frees *rows. Returns their
 * number.
 */
size_t diff_counted_rows(const struct diff *diff, uint32_t **rows);

#endif

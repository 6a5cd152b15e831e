/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that experiments have said, to be shown. */
#ifndef PROFC_VIEW_WHATIF_FACTS_H
#define PROFC_VIEW_WHATIF_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct whatif_function;

struct whatif_row {
	char *name;		      /* raw target text */
	char *location;		      /* "file:line", or "" */
	double percent, half_percent; /* of the CPU time */
};

/* All is borrowed. */
struct whatif_facts {
	const struct whatif_row *rows;
	const struct whatif_function *functions; /* as many */
	size_t nr;
	const char *progress; /* what was counted */
	double rate;	      /* of it in a second, in baselines, without holds */
	uint64_t run_ns;      /* the program's progress is its end: how long it takes; else 0 */
	double time_ns;	      /* the result is the time of a request, which is so long; else 0 */
	uint64_t elapsed_ns;
	double slower_percent; /* the part of the time for which the program was held */
	size_t nr_threads;
	uint64_t nr_trials, nr_holds, nr_sleeps, nr_undecided;
	double spared_percent; /* of the time of running threads that could not be held */
	const char *cut_short; /* why trials ended before the time was over; NULL: they did not */
};

#endif

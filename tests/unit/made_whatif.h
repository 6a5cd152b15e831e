/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What experiments said of functions, made up. */
#ifndef PROFC_TESTS_MADE_WHATIF_H
#define PROFC_TESTS_MADE_WHATIF_H

#include <stdio.h>

#include "base/clock.h"
#include "view/whatif_facts.h"
#include "view/whatif_text.h"
#include "whatif/plan.h"

#define MADE_PAIRS 3

/* All is in place; do not copy it. */
struct made_whatif {
	struct whatif_pair pairs[4][WHATIF_NR_SPEEDS][MADE_PAIRS];
	struct whatif_function functions[4];
	struct whatif_row rows[4];
	char names[4][160];
	struct whatif_facts facts;
};

static inline void made_whatif_init(struct made_whatif *made)
{
	*made = (struct made_whatif){.facts = {.progress = "calls of finish_item",
					       .rate = 497.2,
					       .elapsed_ns = 50 * NS_PER_SEC,
					       .slower_percent = 21,
					       .nr_threads = 3,
					       .nr_trials = 58,
					       .nr_holds = 148220,
					       .nr_sleeps = 1000}};
	made->facts.rows = made->rows;
	made->facts.functions = made->functions;
}

static inline struct whatif_function *made_whatif_add(struct made_whatif *made, const char *name,
						      double cpu_percent)
{
	static char location[] = "work.c:12";

	snprintf(made->names[made->facts.nr], sizeof(made->names[0]), "%s", name);
	made->rows[made->facts.nr] = (struct whatif_row){.name = made->names[made->facts.nr],
							 .location = location,
							 .percent = cpu_percent,
							 .half_percent = 1.5};
	return &made->functions[made->facts.nr++];
}

/* Three trials of the last one at a speed, so that the gain is known to be so ± about `half`. */
static inline void made_whatif_tried(struct made_whatif *made, size_t speed, double percent,
				     double half)
{
	struct whatif_pair *pairs = made->pairs[made->facts.nr - 1][speed];

	for (int i = 0; i < MADE_PAIRS; i++)
		pairs[i] = (struct whatif_pair){
			.progress = 1000 + 10 * percent + (i - 1) * half / 0.2484,
			.s = 1,
			.base_progress = 1000,
			.base_s = 1,
		};
	made->functions[made->facts.nr - 1].points[speed].pairs = pairs;
	made->functions[made->facts.nr - 1].points[speed].nr = MADE_PAIRS;
}

/* A bottleneck up to half its time, that was too slow at 100%; one without effect; one not tried.
 */
static inline void made_whatif_pipeline(struct made_whatif *made)
{
	static const double gains[] = {11, 33, 98, 99};
	struct whatif_function *function;

	made_whatif_init(made);
	function = made_whatif_add(made, "work_a", 66.5);
	for (size_t i = 0; i < 4; i++)
		made_whatif_tried(made, i, gains[i], 2);
	function->points[4].nr_refused = 2;
	made_whatif_add(made, "work_b", 32);
	for (size_t i = 0; i < WHATIF_NR_SPEEDS; i++)
		made_whatif_tried(made, i, i % 2 ? 0.5 : -0.5, 2);
	function = made_whatif_add(made, "rest", 1.5);
	function->points[0].nr_late = 6;
}

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "base/sink.h"
#include "tests/unit/made_whatif.h"
#include "tests/unit/unit.h"
#include "view/style.h"

/* It would be more than "at most". */
TEST(whatif_text, gains_of_two_trials_are_not_in_the_table)
{
	const struct view view = {.columns = 110};
	struct made_whatif made;
	struct sink sink = SINK_MEMORY;

	made_whatif_init(&made);
	made_whatif_add(&made, "work_a", 66.5);
	made_whatif_tried(&made, 1, 33, 2);
	made_whatif_tried(&made, 2, 98, 2);
	made.functions[0].points[2].nr = 2;
	whatif_print_text(&made.facts, &view, &sink);
	assert_non_null(strstr(buf_str(&sink.pending),
			       "work_a      66.5%  +33.0%  \xc2\xb1 2.0   -         +33.0% "
			       "\xc2\xb1 2.0  bottleneck\n"));
	sink_release(&sink);
}

TEST(whatif_text, has_a_row_for_each_function_and_notes)
{
	const struct view view = {.columns = 110};
	struct made_whatif made;
	struct sink sink = SINK_MEMORY;

	made_whatif_pipeline(&made);
	made.facts.cut_short = "the program has ended";
	made.facts.nr_undecided = 100;
	made.facts.spared_percent = 6;
	whatif_print_text(&made.facts, &view, &sink);
	assert_string_equal(buf_str(&sink.pending),
			    "what if it were faster: gain of calls of finish_item, 497/s\n\n"
			    "function CPU time     25% faster     50% faster at most        "
			    "verdict\n"
			    "work_a      66.5%  +33.0%  \xc2\xb1 2.0  +98.0%  \xc2\xb1 2.0  +99.0% "
			    "\xc2\xb1 2.0  "
			    "helps up to 50%\n"
			    "work_b      32.0%   +0.5%  \xc2\xb1 2.0   -0.5%  \xc2\xb1 2.0   +0.5% "
			    "\xc2\xb1 2.0  "
			    "no effect\n"
			    "rest         1.5%       -              -              -        "
			    "not measured\n\n"
			    "58 trials in 50 s, 148,220 holds: 21% of that time is taken off the "
			    "clock\n"
			    "they ended early, as the program has ended\n"
			    "6 of them have no result, as threads could not be held in time: is a "
			    "CPU idle?\n"
			    "10% of the sleeps wait for a descriptor: taken as ended from outside\n"
			    "6% of the running threads were not held: a stop would cut "
			    "transfers short, or they are traced\n");
	sink_release(&sink);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "base/clock.h"
#include "base/sink.h"
#include "tests/unit/unit.h"
#include "view/style.h"
#include "view/whatif_facts.h"
#include "view/whatif_text.h"
#include "whatif/plan.h"

/* Half of the trials are better by the scatter, the others worse. */
static void add_trials(struct whatif_plan *plan, size_t function, size_t speed, uint64_t progress,
		       uint64_t scatter)
{
	const struct whatif_trial trial = {.function = function, .speed = speed};
	const struct whatif_window base = {
		.progress = 1000, .virtual_ns = NS_PER_SEC, .real_ns = NS_PER_SEC};

	for (size_t i = 0; i < 4; i++) {
		struct whatif_window window = base;

		window.progress = i % 2 ? progress + scatter : progress - scatter;
		whatif_plan_add(plan, &trial, &window, &base, &base);
	}
}

static void assert_shown(char *name, uint64_t scatter, const char *expected)
{
	static const uint64_t progress[WHATIF_NR_SPEEDS] = {1100, 1331, 1984, 1985, 1990};
	char other[] = "work_b";
	struct whatif_row rows[] = {{.name = name, .percent = 66.5},
				    {.name = other, .percent = 33.5}};
	struct whatif_plan plan;
	struct whatif_facts facts = {.rows = rows,
				     .nr = 2,
				     .progress = "runs of ./program",
				     .run_ns = 512 * NS_PER_MS,
				     .elapsed_ns = 50 * NS_PER_SEC,
				     .slower_percent = 21,
				     .nr_trials = 40,
				     .nr_holds = 148220};
	const struct view view = {.columns = 80};
	struct sink sink = SINK_MEMORY;

	whatif_plan_init(&plan, 2, 5);
	facts.functions = plan.functions;
	for (size_t i = 0; i < WHATIF_NR_SPEEDS; i++) {
		add_trials(&plan, 0, i, progress[i], scatter);
		add_trials(&plan, 1, i, 1000, 5);
	}
	whatif_print_text(&facts, &view, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	whatif_plan_release(&plan);
}

TEST(whatif_text, a_table_of_eighty_columns)
{
	char name[] = "work_a";

	assert_shown(
		name, 10,
		"what if it were faster: gain of runs of ./program, 512 ms each\n"
		"\n"
		"function CPU time     25% faster     50% faster at most        verdict\n"
		"work_a      66.5%  +33.1%  ± 1.8  +98.4%  ± 1.8  +99.0% ± 1.8  helps up to 50%\n"
		"work_b      33.5%   +0.0%  ± 0.9   +0.0%  ± 0.9   +0.0% ± 0.9  no effect\n"
		"\n"
		"40 trials in 50 s, 148,220 holds: 21% of that time is taken off the clock\n");
}

/* A name cut to four characters would not tell which function it is. */
TEST(whatif_text, names_stay_before_intervals)
{
	char name[] = "deflate_compress_block";

	assert_shown(
		name, 900,
		"what if it were faster: gain of runs of ./program, 512 ms each\n"
		"\n"
		"function         CPU time     25% faster     50% faster at most        verdict\n"
		"defla…ress_block    66.5%  +33.1%  ± 165  +98.4%  ± 165  +99.0% ± 165  uncertain\n"
		"work_b              33.5%   +0.0%  ± 0.9   +0.0%  ± 0.9   +0.0% ± 0.9  no effect\n"
		"\n"
		"40 trials in 50 s, 148,220 holds: 21% of that time is taken off the clock\n");
}

/* Speeds without a trial have no result, which is not one of 0. */
TEST(whatif_json, more_requests_are_not_known_without_a_trial)
{
	char name[] = "work", location[] = "";
	struct whatif_row row = {.name = name, .location = location, .percent = 66.5};
	struct whatif_plan plan;
	struct whatif_facts facts = {
		.rows = &row, .nr = 1, .progress = "time from a to b", .time_ns = 1000000};
	struct sink sink = SINK_MEMORY;
	struct whatif_window base = {.progress = 10, .virtual_ns = 1000, .real_ns = 1000};
	struct whatif_window more = base;

	base.flows[0] = more.flows[0] = (struct whatif_flow){.area_ns = 2000, .all_ns = 1000};
	more.progress = 11;
	whatif_plan_init(&plan, 1, 5);
	whatif_plan_time_requests(&plan, 0);
	whatif_plan_add(&plan, &(struct whatif_trial){.speed = 1}, &more, &base, &base);
	facts.functions = plan.functions;
	whatif_print_json(&facts, &sink);
	assert_non_null(strstr(buf_str(&sink.pending),
			       "\"trials\":0,\"more_requests_pct\":null},{\"faster_pct\":25,"
			       "\"gain_pct\":null,\"ci_pct\":null,\"trials\":1,"
			       "\"more_requests_pct\":10}"));
	sink_release(&sink);
	whatif_plan_release(&plan);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/unit/unit.h"
#include "whatif/accounts.h"
#include "whatif/flow.h"
#include "whatif/plan.h"

/* --- accounts --- */

static void look(struct whatif_accounts *all, struct whatif_account *a, struct whatif_account *b,
		 uint64_t now_ns)
{
	struct whatif_account *accounts[] = {a, b};

	whatif_look(all, accounts, ARRAY_SIZE(accounts), 0.5, now_ns);
}

TEST(accounts, the_other_thread_is_held_for_a_part)
{
	struct whatif_accounts all = {.global_ns = 0};
	struct whatif_account a = {.seen = {.state = WHATIF_HITS, .cpu_ns = 1000000}};
	struct whatif_account b = {.seen = {.state = WHATIF_RUNS}};

	look(&all, &a, &b, 1);
	assert_int_equal(all.global_ns, 500000);
	assert_int_equal(whatif_account_hold_ns(&a, &all), 0);
	assert_int_equal(whatif_account_hold_ns(&b, &all), 500000);
	whatif_account_held(&b, 495000);
	assert_int_equal(whatif_account_hold_ns(&b, &all), 0); /* the rest is carried over */
	a.seen.cpu_ns = 20000;
	look(&all, &a, &b, 2);
	assert_int_equal(whatif_account_hold_ns(&b, &all), 15000);
}

TEST(accounts, two_in_the_function_need_no_hold)
{
	struct whatif_accounts all = {.global_ns = 0};
	struct whatif_account a = {.seen = {.state = WHATIF_HITS, .cpu_ns = 1000000}};
	struct whatif_account b = a;

	look(&all, &a, &b, 1);
	assert_int_equal(all.global_ns, 500000); /* once, not for each */
	assert_int_equal(whatif_account_hold_ns(&a, &all), 0);
	assert_int_equal(whatif_account_hold_ns(&b, &all), 0);
}

TEST(accounts, a_sleeper_owes_only_to_the_outside)
{
	struct whatif_accounts all = {.global_ns = 0};
	struct whatif_account a = {.seen = {.state = WHATIF_HITS, .cpu_ns = 1000000}};
	struct whatif_account b = {.seen = {.state = WHATIF_AWAITS_THREAD}};

	look(&all, &a, &b, 1);
	assert_int_equal(whatif_account_hold_ns(&b, &all), 0);
	b.seen.state = WHATIF_AWAITS_OUTSIDE;
	look(&all, &a, &b, 2);
	assert_int_equal(whatif_account_hold_ns(&b, &all), 500000);
	/* A debt is paid by a sleep that another thread ends. */
	b.seen = (struct whatif_seen){.state = WHATIF_AWAITS_THREAD, .slept_ns = 300000};
	a.seen.state = WHATIF_RUNS;
	look(&all, &a, &b, 3);
	assert_int_equal(whatif_account_hold_ns(&b, &all), 200000);
}

TEST(accounts, holds_have_bounds)
{
	struct whatif_accounts all = {.global_ns = 10 * NS_PER_MS};
	struct whatif_account a = {.own_ns = 0};

	assert_int_equal(whatif_account_hold_ns(&a, &all), 2 * NS_PER_MS);
	a.own_ns = all.global_ns - 9999;
	assert_int_equal(whatif_account_hold_ns(&a, &all), 0);
	whatif_account_open(&a, &all);
	assert_int_equal(a.own_ns, all.global_ns);
}

/* Whatever the program does, in each second, wherever that begins. */
TEST(accounts, no_second_is_slowed_down_more_than_allowed)
{
	enum { TICKS = 4000, PER_SECOND = 1000 };
	static uint64_t global_ns[TICKS];
	struct whatif_accounts all = {.governor = {.most = 0.3}};
	struct whatif_account a = {.own_ns = 0}, b = {.own_ns = 0};

	for (size_t i = 0; i < TICKS; i++) {
		/* A second of work, then one without. */
		bool works = i / PER_SECOND % 2 == 0;

		a.seen.state = works ? WHATIF_HITS : WHATIF_RUNS;
		a.seen.cpu_ns = NS_PER_MS;
		look(&all, &a, &b, (i + 1) * NS_PER_MS);
		global_ns[i] = all.global_ns;
	}
	for (size_t i = PER_SECOND; i < TICKS; i++)
		assert_true(global_ns[i] - global_ns[i - PER_SECOND] <= NS_PER_SEC * 3 / 10);
	assert_true(all.global_ns > NS_PER_SEC / 2);
	assert_true(all.refused_ns > 0);
}

/* --- the plan --- */

static struct whatif_window window(uint64_t progress, uint64_t refused_ns)
{
	return (struct whatif_window){.progress = progress,
				      .virtual_ns = NS_PER_SEC / 2,
				      .real_ns = NS_PER_SEC,
				      .refused_ns = refused_ns};
}

static void add(struct whatif_plan *plan, const struct whatif_trial *trial, uint64_t progress,
		uint64_t refused_ns)
{
	struct whatif_window made = window(progress, refused_ns), base = window(1000, 0);

	whatif_plan_add(plan, trial, &made, &base, &base);
}

TEST(plan, tries_all_until_they_are_certain)
{
	struct whatif_plan plan;
	struct whatif_trial trial;
	size_t nr = 0;

	whatif_plan_init(&plan, 2, 5);
	for (; whatif_plan_next(&plan, &trial); nr++) {
		assert_true(nr < 1000);
		if (nr < 4) /* of both functions */
			assert_true(trial.speed == 1 || trial.speed == 2);
		/* One is certain, and the other becomes so by and by. */
		add(&plan, &trial,
		    trial.function ? 1000 + plan.functions[1].points[trial.speed].nr % 2 * 100
				   : 1200,
		    0);
	}
	for (size_t i = 0; i < WHATIF_NR_SPEEDS; i++) {
		assert_int_equal(plan.functions[0].points[i].nr, 3);
		assert_true(plan.functions[1].points[i].nr > 5);
		assert_true(whatif_point_gain(&plan.functions[1].points[i]).half_percent <= 3);
	}
	whatif_plan_release(&plan);
}

TEST(plan, leaves_out_what_would_be_too_slow)
{
	struct whatif_plan plan;
	struct whatif_trial trial;

	whatif_plan_init(&plan, 1, 5);
	while (whatif_plan_next(&plan, &trial))
		add(&plan, &trial, 1500, trial.speed == 4 ? NS_PER_SEC / 4 : 0);
	assert_int_equal(plan.functions[0].points[4].nr_refused, 2);
	assert_false(whatif_point_gain(&plan.functions[0].points[4]).is_known);
	assert_true(whatif_point_gain(&plan.functions[0].points[3]).is_known);
	whatif_plan_release(&plan);
}

/* They are no results, but no reason to end either. */
TEST(plan, leaves_out_trials_whose_holds_came_late)
{
	struct whatif_plan plan;
	struct whatif_window late = window(3000, 0), base = window(1000, 0);
	struct whatif_trial trial = {.speed = 1};

	late.late_ns = NS_PER_SEC / 10;
	whatif_plan_init(&plan, 1, 5);
	for (size_t i = 0; i < 4; i++)
		whatif_plan_add(&plan, &trial, &late, &base, &base);
	assert_int_equal(plan.functions[0].points[1].nr, 0);
	assert_int_equal(plan.functions[0].points[1].nr_late, 4);
	assert_true(whatif_plan_next(&plan, &trial));
	assert_int_equal(trial.speed, 2); /* the other of the first two */
	whatif_plan_release(&plan);
}

/* --- what it says --- */

/* Progress at each speed, of 1000 in baselines; scattered by that. */
static void check_words(const uint64_t progress[WHATIF_NR_SPEEDS], uint64_t scatter,
			const char *words)
{
	struct whatif_plan plan;
	struct whatif_verdict verdict;
	char text[40];

	whatif_plan_init(&plan, 1, 5);
	for (size_t i = 0; i < WHATIF_NR_SPEEDS; i++)
		for (size_t k = 0; progress[i] && k < 4; k++)
			add(&plan, &(struct whatif_trial){.speed = i},
			    progress[i] + (k % 2 ? scatter : 0) - (k % 2 ? 0 : scatter), 0);
	verdict = whatif_function_verdict(&plan.functions[0]);
	whatif_verdict_text(&verdict, text, sizeof(text));
	assert_string_equal(text, words);
	whatif_plan_release(&plan);
}

TEST(verdict, has_a_word_for_each_curve)
{
	check_words((uint64_t[]){1050, 1180, 1430, 1800, 2500}, 5, "bottleneck");
	check_words((uint64_t[]){1100, 1330, 1960, 1970, 1980}, 5, "helps up to 50%");
	check_words((uint64_t[]){1000, 1002, 998, 1001, 1003}, 5, "no effect");
	check_words((uint64_t[]){990, 960, 900, 850, 800}, 5, "makes it slower (contention)");
	check_words((uint64_t[]){1000, 1100, 1150, 1100, 1000}, 300, "uncertain");
	/* +-7.3 alone, but 13.5 where five are to be right together. */
	check_words((uint64_t[]){1000, 1000, 1100, 1000, 1000}, 40, "uncertain");
	check_words((uint64_t[]){1000, 1000, 900, 1000, 1000}, 40, "uncertain");
	check_words((uint64_t[]){1000, 1000, 1150, 1000, 1000}, 40, "helps up to 50%");
	check_words((uint64_t[]){0, 0, 0, 0, 0}, 0, "not measured");
}

static void add_twice(struct whatif_plan *plan, size_t speed, uint64_t progress, uint64_t scatter)
{
	add(plan, &(struct whatif_trial){.speed = speed}, progress + scatter, 0);
	add(plan, &(struct whatif_trial){.speed = speed}, progress - scatter, 0);
}

/* The verdict of the only function, which is released. */
static struct whatif_verdict verdict_of(struct whatif_plan *plan)
{
	struct whatif_verdict verdict = whatif_function_verdict(&plan->functions[0]);

	whatif_plan_release(plan);
	return verdict;
}

/* One that is larger, and may be anything, is not the most, and no limit. */
TEST(verdict, is_of_gains_that_are_sure)
{
	struct whatif_plan plan;
	struct whatif_verdict verdict;

	whatif_plan_init(&plan, 1, 5);
	for (size_t i = 0; i < 3; i++) {
		add_twice(&plan, 1, 1140, 10);
		add_twice(&plan, 2, 1300, 10);
		add_twice(&plan, 4, 1400, i < 2 ? 800 : 0);
	}
	verdict = verdict_of(&plan);
	assert_int_equal(verdict.word, WHATIF_BOTTLENECK);
	assert_true(fabs(verdict.most.percent - 30) < 0.001);
	assert_true(verdict.most.half_percent < 2); /* that of 95 % */
}

/* A function of gzip had +3.1 +- 0.3 and +7.7 +- 2.7, and was said to have 3.1 at most. */
TEST(verdict, a_narrow_interval_is_no_bound)
{
	struct whatif_plan plan;
	struct whatif_verdict verdict;

	whatif_plan_init(&plan, 1, 5);
	for (size_t i = 0; i < 3; i++) {
		add_twice(&plan, 1, 1031, 1);
		add_twice(&plan, 2, 1077, 18);
	}
	verdict = verdict_of(&plan);
	assert_int_equal(verdict.word, WHATIF_BOTTLENECK);
	assert_true(fabs(verdict.most.percent - 7.7) < 0.001);
}

/* That of a function with these gains, in percent; known to `halves`, with 95 %. 0: not tried. */
static struct whatif_verdict verdict_of_gains(const double gains[WHATIF_NR_SPEEDS],
					      const double halves[WHATIF_NR_SPEEDS])
{
	struct whatif_plan plan;

	whatif_plan_init(&plan, 1, 5);
	for (size_t i = 0; i < WHATIF_NR_SPEEDS; i++) {
		/* The half is 4.303 times the standard error, of three values: one is the mean. */
		double scatter = halves[i] / 4.303 * sqrt(3);

		for (int k = -1; halves[i] > 0 && k <= 1; k++) {
			struct whatif_window base = window(1000000, 0);
			struct whatif_window made =
				window((uint64_t)(10000 * (100 + gains[i] + k * scatter)), 0);

			whatif_plan_add(&plan, &(struct whatif_trial){.speed = i}, &made, &base,
					&base);
		}
	}
	return verdict_of(&plan);
}

static enum whatif_word word_of_gains(const double gains[WHATIF_NR_SPEEDS],
				      const double halves[WHATIF_NR_SPEEDS])
{
	return verdict_of_gains(gains, halves).word;
}

/* A lucky narrow interval hid the others: only the highest lower end was asked. */
TEST(verdict, a_gain_that_is_seen_is_an_effect)
{
	/* The other one is not sure where both are to be right, but the first one is. */
	assert_int_equal(
		word_of_gains((double[]){0, 2.5, 5.3, 0, 0}, (double[]){0, 0.25, 3.5, 0, 0}),
		WHATIF_BOTTLENECK);
	assert_int_equal(
		word_of_gains((double[]){0, 2.5, 5.3, 0, 12}, (double[]){0, 0.25, 3.5, 0, 7.5}),
		WHATIF_BOTTLENECK);
	assert_int_equal(
		word_of_gains((double[]){0, -2.5, -5.3, 0, 0}, (double[]){0, 0.25, 3.5, 0, 0}),
		WHATIF_UNCERTAIN);
	/* Neither is seen that has 3 %. */
	assert_int_equal(word_of_gains((double[]){0, 2.5, 5.3, 0, 0}, (double[]){0, 0.25, 6, 0, 0}),
			 WHATIF_NO_EFFECT);
}

/* Wide is one that is not within half of it: it is the most where it is surely more than others. */
TEST(verdict, a_wide_gain_is_the_most_where_that_is_sure)
{
	struct whatif_verdict verdict =
		verdict_of_gains((double[]){0, 25, 100, 0, 0}, (double[]){0, 4, 54.7, 0, 0});

	/* It is surely more than 21 where both are to be right: no less than the other may be. */
	assert_true(fabs(verdict.most.percent - 25) < 0.001);
	verdict = verdict_of_gains((double[]){0, 15, 100, 0, 0}, (double[]){0, 2.5, 54.7, 0, 0});
	assert_true(fabs(verdict.most.percent - 100) < 0.001);
	assert_int_equal(verdict.word, WHATIF_BOTTLENECK);
}

TEST(verdict, a_gain_that_is_seen_is_no_contention)
{
	assert_int_equal(
		word_of_gains((double[]){-5, 2, 20, 0, 0}, (double[]){0.5, 0.25, 14.9, 0, 0}),
		WHATIF_UNCERTAIN);
	assert_int_equal(word_of_gains((double[]){-5, 2, 0, 0, 0}, (double[]){0.5, 0.25, 2, 0, 0}),
			 WHATIF_SLOWER);
}

TEST(verdict, is_not_of_two_trials)
{
	struct whatif_plan plan;
	struct whatif_verdict verdict;

	whatif_plan_init(&plan, 1, 5);
	add_twice(&plan, 4, 1400, 1);
	verdict = whatif_function_verdict(&plan.functions[0]);
	assert_int_equal(verdict.word, WHATIF_UNCERTAIN);
	assert_false(verdict.most.is_known);
	for (size_t i = 0; i < 2; i++) {
		add_twice(&plan, 1, 1000, 5);
		add_twice(&plan, 2, 1000, 5);
	}
	assert_int_equal(verdict_of(&plan).word, WHATIF_NO_EFFECT);
}

/* At 10 % an effect may be too small to be seen. */
TEST(verdict, no_effect_needs_the_speeds_in_the_middle)
{
	struct whatif_plan plan;

	whatif_plan_init(&plan, 1, 5);
	for (size_t i = 0; i < 2; i++) {
		add_twice(&plan, 0, 1000, 5);
		add_twice(&plan, 1, 1000, 5);
	}
	assert_int_equal(verdict_of(&plan).word, WHATIF_UNCERTAIN);
}

/* About 0, with a deviation of 1: a sum of twelve. */
static double next_normal(uint64_t *random)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		*random = *random * 6364136223846793005 + 1442695040888963407;
		sum += (double)(*random >> 11) / 9007199254740992.0;
	}
	return sum;
}

static struct whatif_window noisy(uint64_t *random, double gain, double deviation)
{
	return window((uint64_t)(1000 * (1 + gain) * (1 + deviation * next_normal(random))), 0);
}

/* As a run has them: in the order of the plan, until all is certain or the time is over. */
static enum whatif_word word_of_trials(uint64_t *random, const double gains[WHATIF_NR_SPEEDS],
				       double deviation, size_t most)
{
	struct whatif_plan plan;
	struct whatif_trial trial;
	struct whatif_window before = noisy(random, 0, deviation);

	whatif_plan_init(&plan, 1, *random);
	for (size_t i = 0; i < most && whatif_plan_next(&plan, &trial); i++) {
		struct whatif_window made = noisy(random, gains[trial.speed], deviation);
		struct whatif_window after = noisy(random, 0, deviation);

		whatif_plan_add(&plan, &trial, &made, &before, &after);
		before = after;
	}
	return verdict_of(&plan).word;
}

/* How many of a hundred functions have each word. */
static void count_words(const double gains[WHATIF_NR_SPEEDS], double deviation,
			size_t nr[WHATIF_BOTTLENECK + 1])
{
	uint64_t random = 1;

	memset(nr, 0, (WHATIF_BOTTLENECK + 1) * sizeof(*nr));
	for (size_t i = 0; i < 100; i++)
		nr[word_of_trials(&random, gains, deviation, 30)]++;
	print_message("deviation %.2f: %zu uncertain, %zu no effect, %zu slower, %zu help\n",
		      deviation, nr[WHATIF_UNCERTAIN], nr[WHATIF_NO_EFFECT], nr[WHATIF_SLOWER],
		      nr[WHATIF_HELPS_UP_TO] + nr[WHATIF_BOTTLENECK]);
}

TEST(verdict, chance_is_rarely_an_effect)
{
	static const double none[WHATIF_NR_SPEEDS];
	static const double third[] = {0.06, 0.15, 0.3, 0.3, 0.3};
	size_t nr[WHATIF_BOTTLENECK + 1];

	count_words(none, 0.02, nr);
	assert_true(nr[WHATIF_NO_EFFECT] >= 90);
	assert_true(nr[WHATIF_NO_EFFECT] + nr[WHATIF_UNCERTAIN] >= 95);
	count_words(none, 0.06, nr);
	assert_true(nr[WHATIF_NO_EFFECT] + nr[WHATIF_UNCERTAIN] >= 95);
	count_words(third, 0.06, nr);
	assert_true(nr[WHATIF_HELPS_UP_TO] + nr[WHATIF_BOTTLENECK] >= 95);
}

TEST(verdict, gains_have_their_interval)
{
	struct whatif_plan plan;
	struct whatif_gain gain;

	whatif_plan_init(&plan, 1, 5);
	add(&plan, &(struct whatif_trial){.speed = 1}, 1100, 0);
	assert_false(whatif_point_gain(&plan.functions[0].points[1]).is_known);
	add(&plan, &(struct whatif_trial){.speed = 1}, 1300, 0);
	gain = whatif_point_gain(&plan.functions[0].points[1]);
	assert_true(fabs(gain.percent - 20) < 0.001);
	/* Of two values: 12.71 times a standard error of 10. */
	assert_true(fabs(gain.half_percent - 127.1) < 0.1);
	whatif_plan_release(&plan);
}

static struct whatif_window run_of(uint64_t ms)
{
	return (struct whatif_window){
		.progress = 1, .virtual_ns = ms * NS_PER_MS, .real_ns = ms * NS_PER_MS};
}

/* A fast run has more weight in the mean of rates than a slow one. */
TEST(verdict, runs_that_scatter_gain_nothing)
{
	const struct whatif_window fast = run_of(100), slow = run_of(500);
	const struct whatif_trial trial = {.speed = 1};
	struct whatif_plan plan;
	struct whatif_gain gain;

	whatif_plan_init(&plan, 1, 5);
	for (size_t i = 0; i < 10; i++)
		whatif_plan_add(&plan, &trial, i % 2 ? &fast : &slow, &fast, &slow);
	gain = whatif_point_gain(&plan.functions[0].points[1]);
	assert_true(fabs(gain.percent) < 0.001);
	/* Of ten values: 2.26 times the standard error of the times, 210.8 / sqrt(10) of 300. */
	assert_true(fabs(gain.half_percent - 50.3) < 0.1);
	whatif_plan_release(&plan);
}

/* --- requests --- */

static struct whatif_flow flow_of(const int64_t *inside, size_t nr)
{
	struct whatif_flow flow;

	whatif_flow_begin(&flow, inside[0], 1000);
	for (size_t i = 1; i < nr; i++)
		whatif_flow_add(&flow, inside[i], 1000 + (int64_t)i * 100);
	return flow;
}

TEST(flow, each_number_counts_for_the_time_before_it)
{
	static const int64_t inside[] = {9, 0, 2, 4};
	struct whatif_flow flow = flow_of(inside, ARRAY_SIZE(inside));

	assert_true(whatif_flow_stay_ns(&flow, 0) == 600);
	assert_true(whatif_flow_stay_ns(&flow, -1) == 900);
	assert_int_equal(flow.least, 0);
	assert_int_equal(flow.least_ns, 100);
	assert_true(whatif_flow_is_empty_at_least(&flow));
}

TEST(flow, the_least_number_has_to_be_there_for_long)
{
	int64_t inside[100] = {-3, -3};
	struct whatif_flow flow = flow_of(inside, ARRAY_SIZE(inside));

	assert_false(whatif_flow_is_empty_at_least(&flow));
	inside[50] = inside[70] = -3;
	flow = flow_of(inside, ARRAY_SIZE(inside));
	assert_true(whatif_flow_is_empty_at_least(&flow));
	for (size_t i = 0; i < ARRAY_SIZE(inside); i++)
		inside[i] = 4;
	flow = flow_of(inside, ARRAY_SIZE(inside));
	assert_false(whatif_flow_is_empty_at_least(&flow)); /* it never changes */
}

TEST(flow, parts_are_joined)
{
	static const int64_t early[] = {1, 0, 2}, late[] = {2, -1, 4};
	struct whatif_flow first = flow_of(early, 3), second = flow_of(late, 3);
	struct whatif_flow both = whatif_flow_join(&first, &second);

	assert_true(whatif_flow_stay_ns(&both, 0) == 500);
	assert_int_equal(both.least, -1);
	assert_int_equal(both.least_ns, 100);
	assert_int_equal(both.first, 1);
	assert_int_equal(both.last, 4);
}

TEST(flow, drifts)
{
	static const int64_t even[] = {0, 3, 1, 2}, rises[] = {2, 9, 17, 30};
	struct whatif_flow first = flow_of(even, 4), second = flow_of(rises, 4);

	assert_false(whatif_flow_drifts(&first, &first, 0, 100));
	assert_true(whatif_flow_drifts(&first, &second, 0, 100));
	assert_false(whatif_flow_drifts(&first, &second, 0, 1000)); /* few of so many */
}

/* A time that falls is a gain; once a smaller number is seen all is forgotten. */
TEST(plan, time_of_requests)
{
	static const struct whatif_trial trial = {.function = 0, .speed = 2};
	struct whatif_window base = {.progress = 10, .virtual_ns = 1000, .real_ns = 1000};
	struct whatif_window faster = base;
	struct whatif_plan plan;
	struct whatif_gain gain;

	base.flows[0] = (struct whatif_flow){.area_ns = 2000, .all_ns = 1000};
	faster.flows[1] = (struct whatif_flow){.area_ns = 500, .all_ns = 1000};
	whatif_plan_init(&plan, 1, 1);
	whatif_plan_time_requests(&plan, 0);
	for (int i = 0; i < 3; i++)
		whatif_plan_add(&plan, &trial, &faster, &base, &base);
	gain = whatif_point_gain(&plan.functions[0].points[2]);
	assert_true(gain.is_known);
	assert_true(fabs(gain.percent - 75) < 1e-9);
	assert_true(fabs(whatif_window_time_ns(&base, -1) - 300) < 1e-9);
	base.virtual_ns = 900; /* a request stays for more than a fifth of it */
	whatif_plan_add(&plan, &trial, &faster, &base, &base);
	assert_int_equal(plan.functions[0].points[2].nr_drifting, 1);
	base.virtual_ns = 1000;
	whatif_plan_time_requests(&plan, -1);
	assert_int_equal(plan.functions[0].points[2].nr, 0);
	base.progress = 0;
	whatif_plan_add(&plan, &trial, &base, &faster, &faster);
	assert_int_equal(plan.functions[0].points[2].nr_drifting, 1);
	whatif_plan_release(&plan);
}

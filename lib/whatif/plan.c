// SPDX-License-Identifier: GPL-2.0-or-later
#include "whatif/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/random.h"
#include "calltree/student.h"

const double whatif_speeds[WHATIF_NR_SPEEDS] = {0.1, 0.25, 0.5, 0.75, 1};

#define CONFIDENCE_TAIL 0.05 /* of the intervals that are shown */
/* The interval of two is mostly chance: 12.7 times the standard error, of two values. */
#define LEAST_PAIRS  3
#define MOST_PERCENT 3.0
/* This part of a large gain may be uncertain. */
#define MOST_PART    0.05
#define MOST_REFUSED 2
/* More of what was to be held was not: it is no trial of that speed. */
#define REFUSED_PART 0.05
/* Holds always come a bit late: so is one without a result, as on a machine without an idle CPU. */
#define LATE_PART 0.1
/* A request may be inside for this part of a window, in the mean. */
#define STAY_PART 0.2

void whatif_plan_init(struct whatif_plan *plan, size_t nr_functions, uint64_t seed)
{
	*plan = (struct whatif_plan){
		.functions = xcalloc(nr_functions ? nr_functions : 1, sizeof(*plan->functions)),
		.nr_functions = nr_functions,
		.random = seed ? seed : 1,
		.most_percent = MOST_PERCENT};
}

void whatif_plan_time_requests(struct whatif_plan *plan, int64_t none)
{
	plan->is_of_time = true;
	plan->none = none;
	for (size_t i = 0; i < plan->nr_functions * WHATIF_NR_SPEEDS; i++) {
		struct whatif_point *point =
			&plan->functions[i / WHATIF_NR_SPEEDS].points[i % WHATIF_NR_SPEEDS];

		free(point->pairs);
		*point = (struct whatif_point){.is_of_time = true};
	}
}

void whatif_plan_release(struct whatif_plan *plan)
{
	for (size_t i = 0; i < plan->nr_functions; i++)
		for (size_t k = 0; k < WHATIF_NR_SPEEDS; k++)
			free(plan->functions[i].points[k].pairs);
	free(plan->functions);
	*plan = (struct whatif_plan){.functions = NULL};
}

static bool is_done(const struct whatif_plan *plan, const struct whatif_point *point)
{
	struct whatif_gain gain = whatif_point_gain(point);

	return point->nr_refused >= MOST_REFUSED ||
	       (point->nr >= LEAST_PAIRS && gain.is_known &&
		gain.half_percent <= fmax(plan->most_percent, MOST_PART * fabs(gain.percent)));
}

/* Tables have these. */
static bool is_in_middle(size_t speed)
{
	return speed == 1 || speed == 2;
}

/* So often it was tried. Others count more than the speeds in the middle. */
static size_t nr_tried(const struct whatif_point *point, size_t speed)
{
	size_t nr = point->nr + point->nr_refused + point->nr_late + point->nr_drifting;

	return is_in_middle(speed) ? nr : 2 * nr + 2;
}

/* In random order. */
bool whatif_plan_next(struct whatif_plan *plan, struct whatif_trial *trial)
{
	size_t least = SIZE_MAX, nr_least = 0;

	for (size_t i = 0; i < plan->nr_functions * WHATIF_NR_SPEEDS; i++) {
		const struct whatif_point *point =
			&plan->functions[i / WHATIF_NR_SPEEDS].points[i % WHATIF_NR_SPEEDS];

		size_t nr = nr_tried(point, i % WHATIF_NR_SPEEDS);

		if (is_done(plan, point) || nr > least)
			continue;
		if (nr < least)
			nr_least = 0;
		least = nr;
		/* Each of those that are equal is the last chosen one with the same chance. */
		if (random_next(&plan->random) % ++nr_least == 0)
			*trial = (struct whatif_trial){.function = i / WHATIF_NR_SPEEDS,
						       .speed = i % WHATIF_NR_SPEEDS};
	}
	return nr_least > 0;
}

static double stay_of(const struct whatif_window *window, int64_t none)
{
	return whatif_flow_stay_ns(&window->flows[0], none) +
	       whatif_flow_stay_ns(&window->flows[1], none);
}

double whatif_window_time_ns(const struct whatif_window *window, int64_t none)
{
	return window->progress ? stay_of(window, none) / (double)window->progress : 0;
}

/* More of the requests of a window begin before it, or end after it, than the law allows. */
static bool stay_too_long(const struct whatif_window *window, int64_t none)
{
	return whatif_window_time_ns(window, none) > STAY_PART * (double)window->virtual_ns;
}

bool whatif_plan_drifts(const struct whatif_plan *plan, const struct whatif_window *window)
{
	return plan->is_of_time &&
	       (!window->progress || whatif_window_time_ns(window, plan->none) <= 0 ||
		stay_too_long(window, plan->none) ||
		whatif_flow_drifts(&window->flows[0], &window->flows[1], plan->none,
				   window->progress));
}

void whatif_plan_add(struct whatif_plan *plan, const struct whatif_trial *trial,
		     const struct whatif_window *window, const struct whatif_window *before,
		     const struct whatif_window *after)
{
	struct whatif_point *point = &plan->functions[trial->function].points[trial->speed];
	uint64_t held_ns = window->real_ns - window->virtual_ns + window->refused_ns;
	struct whatif_pair pair;

	if ((double)window->refused_ns > REFUSED_PART * (double)held_ns || !window->virtual_ns) {
		point->nr_refused++;
		return;
	}
	if ((double)window->late_ns > LATE_PART * (double)held_ns) {
		point->nr_late++;
		return;
	}
	if (whatif_plan_drifts(plan, window) || whatif_plan_drifts(plan, before) ||
	    whatif_plan_drifts(plan, after)) {
		point->nr_drifting++;
		return;
	}
	pair = (struct whatif_pair){.progress = (double)window->progress,
				    .s = (double)window->virtual_ns / (double)NS_PER_SEC,
				    .base_progress = (double)(before->progress + after->progress),
				    .base_s = (double)(before->virtual_ns + after->virtual_ns) /
					      (double)NS_PER_SEC};
	if (plan->is_of_time) {
		pair.time_ns = whatif_window_time_ns(window, plan->none);
		pair.base_time_ns = sqrt(whatif_window_time_ns(before, plan->none) *
					 whatif_window_time_ns(after, plan->none));
	}
	ARRAY_GROW(point->pairs, point->nr, point->cap);
	point->pairs[point->nr++] = pair;
}

double whatif_pair_load(const struct whatif_pair *pair)
{
	double base_rate = pair->base_s > 0 ? pair->base_progress / pair->base_s : 0;

	return base_rate > 0 && pair->s > 0 ? pair->progress / pair->s / base_rate : 0;
}

/*
 * By how much less, as the mean of logarithms: a queue is ten times as long where another program
 * has the CPUs for a moment, and a few such trials would be all of a mean.
 */
static struct whatif_gain gain_of_time(const struct whatif_point *point, double tail)
{
	double sum = 0, squares = 0, mean, n = (double)point->nr;

	if (point->nr < 2)
		return (struct whatif_gain){.is_known = false};
	for (size_t i = 0; i < point->nr; i++)
		sum += log(point->pairs[i].time_ns / point->pairs[i].base_time_ns);
	mean = sum / n;
	for (size_t i = 0; i < point->nr; i++) {
		double rest = log(point->pairs[i].time_ns / point->pairs[i].base_time_ns) - mean;

		squares += rest * rest;
	}
	return (struct whatif_gain){
		.is_known = true,
		.is_of_time = true,
		.percent = 100 * (1 - exp(mean)),
		.half_percent = 100 * exp(mean) * student_quantile(tail, n - 1) *
				sqrt(squares / (n - 1) / n),
	};
}

static struct whatif_pair sum_of(const struct whatif_point *point)
{
	struct whatif_pair sum = {.s = 0};

	for (size_t i = 0; i < point->nr; i++) {
		sum.progress += point->pairs[i].progress;
		sum.s += point->pairs[i].s;
		sum.base_progress += point->pairs[i].base_progress;
		sum.base_s += point->pairs[i].base_s;
	}
	return sum;
}

/*
 * A ratio of rates, each of which is all progress in all of the time: where each trial is a run,
 * the mean of their rates would be that of the fast ones. The interval is that of the scatter
 * of trials around it.
 */
static struct whatif_gain gain_of(const struct whatif_point *point, double tail)
{
	const struct whatif_pair sum = sum_of(point);
	double n = (double)point->nr, squares = 0, rate, base_rate, ratio;
	struct whatif_gain gain = {.is_known = false};

	if (point->is_of_time)
		return gain_of_time(point, tail);
	if (point->nr < 2 || sum.s <= 0 || sum.base_s <= 0 || sum.base_progress <= 0)
		return gain;
	rate = sum.progress / sum.s;
	base_rate = sum.base_progress / sum.base_s;
	ratio = rate / base_rate;
	for (size_t i = 0; i < point->nr; i++) {
		const struct whatif_pair *pair = &point->pairs[i];
		double rest = (pair->progress - rate * pair->s) / (base_rate * sum.s) -
			      (pair->base_progress - base_rate * pair->base_s) * ratio /
				      sum.base_progress;

		squares += rest * rest;
	}
	gain.is_known = true;
	gain.percent = 100 * (ratio - 1);
	gain.half_percent = 100 * student_quantile(tail, n - 1) * sqrt(squares * n / (n - 1));
	return gain;
}

struct whatif_gain whatif_point_gain(const struct whatif_point *point)
{
	return gain_of(point, CONFIDENCE_TAIL);
}

/* --- the verdict --- */

/* A gain for which no function is made faster. */
#define SMALL_PERCENT 3.0
/* An interval that is wider says nothing about an effect. */
#define WIDE_PERCENT 8.0
/* And none that is wider than this part of the most that can be gained says where its limit is. */
#define WIDE_PART 0.5
/* A speed that has this part of the most that can be gained is enough. */
#define NEARLY_ALL 0.9

/* The rules look at these: gains of at least LEAST_PAIRS trials, at several speeds. */
struct facts {
	bool is_tried; /* of fewer ones, too */
	/* Alone at its speed, with 95 %, and large enough: is one of them? */
	bool is_gain_seen, is_loss_seen;
	/*
	 * The gain at one speed is surely more than `low`, and at one less than `high`: ends of
	 * several intervals, which have to be right together (Bonferroni).
	 */
	double low, high;
	struct whatif_gain most;    /* the one that `low` is of, as it is shown */
	struct whatif_gain largest; /* that is not wide; or `most`, if `low` is above that */
	double widest_percent;	    /* infinite if not all speeds in the middle count */
	size_t enough;		    /* the least speed with nearly all of the gain */
	size_t last;		    /* the highest one of those that are not wide */
};

bool whatif_point_counts(const struct whatif_point *point)
{
	return point->nr >= LEAST_PAIRS && whatif_point_gain(point).is_known;
}

static double tail_of_each(const struct whatif_function *function)
{
	size_t nr = 0;

	for (size_t i = 0; i < WHATIF_NR_SPEEDS; i++)
		nr += whatif_point_counts(&function->points[i]);
	return CONFIDENCE_TAIL / (double)(nr ? nr : 1);
}

static bool is_seen(const struct whatif_gain *gain)
{
	return fabs(gain->percent) >= fmax(SMALL_PERCENT, gain->half_percent);
}

static void add_point(struct facts *facts, const struct whatif_point *point, double tail)
{
	struct whatif_gain gain = whatif_point_gain(point), sure = gain_of(point, tail);

	if (sure.percent - sure.half_percent > facts->low) {
		facts->low = sure.percent - sure.half_percent;
		facts->most = gain;
	}
	facts->high = fmin(facts->high, sure.percent + sure.half_percent);
	facts->is_gain_seen |= gain.percent > 0 && is_seen(&gain);
	facts->is_loss_seen |= gain.percent < 0 && is_seen(&gain);
	facts->widest_percent = fmax(facts->widest_percent, gain.half_percent);
}

static bool is_wide(const struct whatif_gain *gain, double percent)
{
	return gain->half_percent > fmax(WIDE_PERCENT, WIDE_PART * percent);
}

/*
 * A lucky interval, however narrow, is no bound for a speed with a larger gain; and a wide one is
 * none, but where even its lower end is above the others.
 */
static void find_largest(struct facts *facts, const struct whatif_function *function)
{
	facts->largest = (struct whatif_gain){.percent = -INFINITY};
	for (size_t i = 0; i < WHATIF_NR_SPEEDS; i++) {
		struct whatif_gain gain = whatif_point_gain(&function->points[i]);

		if (whatif_point_counts(&function->points[i]) && !is_wide(&gain, gain.percent) &&
		    gain.percent > facts->largest.percent)
			facts->largest = gain;
	}
	if (facts->low >= facts->largest.percent)
		facts->largest = facts->most;
}

/* A gain that may be anywhere is no sign that a higher speed has no more. */
static void find_enough(struct facts *facts, const struct whatif_function *function)
{
	bool is_first = true;

	for (size_t i = WHATIF_NR_SPEEDS; i-- > 0;) {
		struct whatif_gain gain = whatif_point_gain(&function->points[i]);

		if (!whatif_point_counts(&function->points[i]) ||
		    is_wide(&gain, facts->largest.percent))
			continue;
		if (is_first)
			facts->last = facts->enough = i;
		is_first = false;
		if (gain.percent >= NEARLY_ALL * facts->largest.percent)
			facts->enough = i;
	}
}

static struct facts facts_of(const struct whatif_function *function)
{
	struct facts facts = {.low = -INFINITY, .high = INFINITY};
	double tail = tail_of_each(function);

	for (size_t i = 0; i < WHATIF_NR_SPEEDS; i++) {
		const struct whatif_point *point = &function->points[i];

		facts.is_tried = facts.is_tried || whatif_point_gain(point).is_known;
		if (whatif_point_counts(point))
			add_point(&facts, point, tail);
		else if (is_in_middle(i))
			facts.widest_percent = INFINITY;
	}
	find_largest(&facts, function);
	find_enough(&facts, function);
	return facts;
}

static bool is_unknown(const struct facts *facts)
{
	return !facts->is_tried;
}

static bool is_slower(const struct facts *facts)
{
	return facts->high < -SMALL_PERCENT && !facts->is_gain_seen;
}

/* One that is seen at a speed, but not surely where several are looked at, is uncertain. */
static bool has_no_effect(const struct facts *facts)
{
	return facts->widest_percent <= WIDE_PERCENT && !facts->is_gain_seen &&
	       !facts->is_loss_seen;
}

/* What is surely there may be a small one, and what is seen be as wide as anything. */
static bool is_uncertain(const struct facts *facts)
{
	return facts->low <= 0 || !facts->is_gain_seen || facts->largest.percent < SMALL_PERCENT;
}

static bool helps_up_to(const struct facts *facts)
{
	return facts->enough < facts->last;
}

static bool is_left(const struct facts *facts)
{
	(void)facts;
	return true;
}

/* The first that holds. */
static const struct {
	bool (*holds)(const struct facts *facts);
	enum whatif_word word;
} rules[] = {
	{is_unknown, WHATIF_UNKNOWN},	   {is_slower, WHATIF_SLOWER},
	{has_no_effect, WHATIF_NO_EFFECT}, {is_uncertain, WHATIF_UNCERTAIN},
	{helps_up_to, WHATIF_HELPS_UP_TO}, {is_left, WHATIF_BOTTLENECK},
};

struct whatif_verdict whatif_function_verdict(const struct whatif_function *function)
{
	struct facts facts = facts_of(function);
	struct whatif_verdict verdict = {.most = facts.largest,
					 .up_to_percent = 100 * whatif_speeds[facts.enough]};
	size_t i = 0;

	while (!rules[i].holds(&facts))
		i++;
	verdict.word = rules[i].word;
	return verdict;
}

void whatif_verdict_text(const struct whatif_verdict *verdict, char *out, size_t cap)
{
	static const char *const words[] = {
		[WHATIF_UNKNOWN] = "not measured",
		[WHATIF_UNCERTAIN] = "uncertain",
		[WHATIF_NO_EFFECT] = "no effect",
		[WHATIF_SLOWER] = "makes it slower (contention)",
		[WHATIF_BOTTLENECK] = "bottleneck",
	};

	if (verdict->word == WHATIF_HELPS_UP_TO)
		snprintf(out, cap, "helps up to %.0f%%", verdict->up_to_percent);
	else
		snprintf(out, cap, "%s", words[verdict->word]);
}

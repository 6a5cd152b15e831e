// SPDX-License-Identifier: GPL-2.0-or-later
#include "overhead/governor.h"

#include "base/minmax.h"

/* With less than one tick a second a recording is worthless. */
#define LONGEST_PERIOD_NS UINT64_C(1000000000)
/* The bound holds over this time: so long are credits kept and debts paid. */
#define CREDIT_NS UINT64_C(1000000000)
/* Shorter for looks, so that the bound also holds over the first second of a recording. */
#define LOOK_CREDIT_NS UINT64_C(250000000)
/* Even in deep debt, sampling may use this part of the bound, and stops this part of that. */
#define LEAST_ALLOWANCE 0.25
#define LEAST_STOPS	0.125
/* A thread may have so many stops more than it can afford, as lots are not even. */
#define STOPS_ON_CREDIT 4
/* Parts of the allowed cost for ticks (most, least), and for looks at threads that still sleep. */
#define TICKS_SHARE 0.5
#define TICKS_FREE  0.125
#define LOOKS_SHARE 0.5
/* Copies have this part of the credit for looks: many looks would leave none for them. */
#define COPIES_SHARE 0.5
/*
 * Where a CPU is idle looks at a FEW threads are cheap and have all of it. The more threads sleep
 * the smaller is the part of it by which the credit for looks grows, down to LOOKS_LEAST.
 */
#define FEW	    64
#define LOOKS_LEAST 0.03

/*
 * The rate is that at which so much time would be spent as the budget allows: a new program, whose
 * files are read, lowers it for about so long.
 */
#define BUDGET_MEAN_NS (20e9)
/* Costs differ much between ticks: it is not lowered by those of a moment. */
#define BUDGET_LEAST_NS (2e9)
/*
 * Looks at sleeping threads, and clocks of processes, have these parts of it, however many there
 * are and whatever CPU is idle: the rest is for ticks and the collector. No lower rate would make
 * them fewer.
 */
#define BUDGET_LOOKS  (1 / 3.0)
#define BUDGET_CLOCKS 0.25
/* Credit for looks is saved, and owed, for so long; what was saved before would last for minutes.
 */
#define BUDGET_CREDIT_NS (10e9)
/* No lower than 5 Hz: samples would be too few, and threads that begin to run be found too late. */
#define BUDGET_PERIOD_NS UINT64_C(200000000)
/* It does not suffice if it is too low for so long. */
#define LACKS_AFTER_NS UINT64_C(60000000000)

void governor_init(struct governor *governor, uint64_t period_ns, uint32_t max_ppm, uint64_t seed)
{
	*governor = (struct governor){
		.max_ppm = max_ppm,
		.base_period_ns = period_ns,
		.period_ns = period_ns,
		.max_period_ns = max_u64(period_ns, LONGEST_PERIOD_NS),
		.allowance = 1,
		.lots = 1,
		.stop_share = 1,
		.look_rate = 1,
		.idle_rate = 1,
		.look_credit_ns = LOOK_CREDIT_NS,
		.copy_credit_ns = COPIES_SHARE * LOOK_CREDIT_NS,
		.random = seed,
	};
}

void governor_set_budget(struct governor *governor, uint32_t max_ppm)
{
	governor->budget = (struct cost_budget){.max_ppm = max_ppm};
}

uint32_t governor_used_ppm(const struct governor *governor)
{
	const struct cost_budget *budget = &governor->budget;

	return budget->time_ns > 0 ? (uint32_t)(1e6 * budget->cpu_ns / budget->time_ns) : 0;
}

bool governor_lacks_budget(const struct governor *governor)
{
	return governor->budget.too_low_ns >= LACKS_AFTER_NS;
}

void governor_expect(struct governor *governor, uint64_t cost_ns)
{
	governor->mean_cost_ns = cost_ns;
}

/* From 0 to 1. */
static double draw(struct governor *governor)
{
	governor->random = governor->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (double)(governor->random >> 11) * 0x1p-53;
}

static void credit(struct governor *governor, struct stop_budget *budget, uint64_t cpu_ns)
{
	double share = governor->stop_share * governor->max_ppm / 1e6;
	double most_ns = share * (double)CREDIT_NS;
	double balance_ns = (double)budget->balance_ns;

	/* If the clock runs backwards, it is that of another thread since an exec. */
	if (cpu_ns > budget->cpu_ns)
		balance_ns += share * (double)(cpu_ns - budget->cpu_ns);
	budget->cpu_ns = cpu_ns;
	budget->balance_ns = (int64_t)(balance_ns < most_ns ? balance_ns : most_ns);
}

void governor_credit(struct governor *governor, uint64_t cpu_ns)
{
	governor->window_credited_ns += (double)cpu_ns;
}

static uint64_t mean_of(const struct governor *governor, const struct stop_budget *budget)
{
	return budget->mean_cost_ns ? budget->mean_cost_ns : governor->mean_cost_ns;
}

/*
 * Per second of its CPU time, 1 s / period ticks find a thread running. If each of them stops it,
 * at the mean cost, it loses mean / period of its CPU time.
 */
bool governor_draws(struct governor *governor, const struct stop_budget *budget)
{
	uint64_t mean_ns = mean_of(governor, budget);
	double chance;

	if (!governor->max_ppm || !mean_ns)
		return true;
	chance = governor->lots * governor->stop_share * governor->max_ppm / 1e6 *
		 (double)governor->period_ns / (double)mean_ns;
	return chance >= 1 || draw(governor) < chance;
}

bool governor_affords(struct governor *governor, struct stop_budget *budget, uint64_t cpu_ns)
{
	if (!governor->max_ppm)
		return true;
	credit(governor, budget, cpu_ns);
	return budget->balance_ns >= -(int64_t)(STOPS_ON_CREDIT * mean_of(governor, budget));
}

/*
 * A stop takes some milliseconds where the host of a virtual machine takes our CPU away meanwhile.
 * Once that is an exception: the mean, a forecast, includes it in part, and the thread has no stop
 * for at most this time of its own. What remains is a debt of all threads (settle()), which makes
 * stops rarer, but leaves no thread unseen for long. Twice in a row it is the rule.
 */
#define MEAN_OF		16
#define LONG_FOR_ONCE	2
#define LONGEST_REST_NS UINT64_C(20000000)

static bool is_long(uint64_t mean_ns, uint64_t cost_ns)
{
	return mean_ns && cost_ns > LONG_FOR_ONCE * mean_ns;
}

static uint64_t mean_with(uint64_t mean_ns, uint64_t cost_ns)
{
	if (!mean_ns)
		return cost_ns;
	return mean_ns + cost_ns / MEAN_OF - mean_ns / MEAN_OF;
}

void governor_charge(struct governor *governor, struct stop_budget *budget, uint64_t cost_ns)
{
	double share = governor->stop_share * governor->max_ppm / 1e6;
	uint64_t most_ns = (uint64_t)(share * (double)LONGEST_REST_NS);
	uint64_t mean_ns = mean_of(governor, budget);
	bool was_long = budget->was_long;
	uint64_t usual_ns = cost_ns;

	budget->was_long = is_long(mean_ns, cost_ns);
	if (budget->was_long && !was_long)
		usual_ns = LONG_FOR_ONCE * mean_ns;
	budget->balance_ns -= (int64_t)min_u64(cost_ns, max_u64(most_ns, LONG_FOR_ONCE * mean_ns));
	budget->mean_cost_ns = mean_with(mean_ns, usual_ns);
	if (is_long(governor->mean_cost_ns, usual_ns))
		usual_ns = LONG_FOR_ONCE * governor->mean_cost_ns;
	governor->mean_cost_ns = mean_with(governor->mean_cost_ns, usual_ns);
	governor->window_charged_ns += (double)cost_ns;
}

static double between(double least, double value, double most)
{
	if (value < least)
		return least;
	return value > most ? most : value;
}

/* The part of a CPU that is in the budget; all of one where there is none, or before it counts. */
static double budget_part(const struct governor *governor)
{
	return governor->budget.time_ns > 0 ? governor->budget.max_ppm / 1e6 : 1;
}

/* Without a budget clocks have this part of a period. */
#define CLOCKS_PART 64

uint64_t governor_clocks_ns(const struct governor *governor)
{
	double part = between(0, 1.0 / CLOCKS_PART, BUDGET_CLOCKS * budget_part(governor));

	return (uint64_t)(part * (double)governor->period_ns);
}

/* The part of a CPU that looks may take now. */
static double rate_of(const struct governor *governor)
{
	double rate = between(0, governor->look_rate, governor->idle_rate);

	return governor->budget.time_ns > 0 ? between(0, rate, BUDGET_LOOKS * budget_part(governor))
					    : rate;
}

static double most_look_credit_ns(const struct governor *governor)
{
	double most_ns = governor->look_rate * (double)LOOK_CREDIT_NS;

	return governor->budget.time_ns > 0
		       ? between(0, most_ns, rate_of(governor) * BUDGET_CREDIT_NS)
		       : most_ns;
}

static double grown(const struct governor *governor, double credit_ns, double part,
		    uint64_t elapsed_ns)
{
	double most_ns = part * most_look_credit_ns(governor);

	return between(-most_ns, credit_ns + part * rate_of(governor) * (double)elapsed_ns,
		       most_ns);
}

uint64_t governor_look_credit_ns(struct governor *governor, uint64_t now_ns)
{
	uint64_t elapsed_ns = governor->look_credited_ns ? now_ns - governor->look_credited_ns : 0;

	governor->look_credit_ns = grown(governor, governor->look_credit_ns, 1, elapsed_ns);
	governor->copy_credit_ns =
		grown(governor, governor->copy_credit_ns, COPIES_SHARE, elapsed_ns);
	governor->look_credited_ns = now_ns;
	return (uint64_t)between(0, governor->look_credit_ns, most_look_credit_ns(governor));
}

bool governor_draws_copy(struct governor *governor)
{
	double most_ns = COPIES_SHARE * most_look_credit_ns(governor);

	return rate_of(governor) >= 1 || draw(governor) < governor->copy_credit_ns / most_ns;
}

void governor_charge_copy(struct governor *governor, uint64_t cpu_ns)
{
	governor->copy_credit_ns -= (double)cpu_ns;
}

void governor_charge_looks(struct governor *governor, uint64_t cpu_ns)
{
	governor->look_credit_ns -= (double)cpu_ns;
}

/* If looks take no time from threads, all time is credit. */
static double look_rate_of(const struct governor *governor, double lost_part)
{
	double allowed = LOOKS_SHARE * governor->allowance * governor->max_ppm / 1e6;

	return lost_part > allowed ? allowed / lost_part : 1;
}

/*
 * Ticks that exceed the affordable stops only help sleeping and new threads: a small part of the
 * bound is for them. Apart from that, equally many ticks and stops make the most samples.
 */
static double ticks_share_of(const struct governor *governor, double lost_ns)
{
	double mean_ns = (double)governor->mean_cost_ns;

	return mean_ns > 0 ? between(TICKS_FREE, lost_ns / (lost_ns + mean_ns), TICKS_SHARE)
			   : TICKS_SHARE;
}

/* At most by this factor lots get rarer, or more frequent again, in each window. */
#define LOTS_STEP 1.5

/* While all threads sleep nothing is learned: else a stop just before would make lots ever rarer.
 */
static void adapt_lots(struct governor *governor)
{
	double allowed_ns;

	if (governor->window_credited_ns <= 0 && governor->window_charged_ns <= 0)
		return;
	governor->credited_ns = governor->credited_ns / 2 + governor->window_credited_ns;
	governor->charged_ns = governor->charged_ns / 2 + governor->window_charged_ns;
	governor->window_credited_ns = governor->window_charged_ns = 0;
	if (governor->charged_ns <= 0)
		return;
	allowed_ns = governor->stop_share * governor->max_ppm / 1e6 * governor->credited_ns;
	governor->lots *= between(1 / LOTS_STEP, allowed_ns / governor->charged_ns, LOTS_STEP);
	if (governor->lots > 1)
		governor->lots = 1;
}

/*
 * The shares above bound the expected cost. The actual cost is higher: a recording begins at the
 * full rate, lots adapt late, and costs vary. All time that threads lost beyond the bound, by stops
 * and by ticks and looks (`others`, a part of all CPU time), is a debt: the allowance is smaller
 * until it is paid.
 */
static void settle(struct governor *governor, double others)
{
	double bound = governor->max_ppm / 1e6;
	double most_ns = bound * (double)CREDIT_NS;

	governor->debt_ns +=
		governor->window_charged_ns + (others - bound) * governor->window_credited_ns;
	governor->debt_ns = between(-most_ns, governor->debt_ns, most_ns);
	governor->allowance = between(LEAST_ALLOWANCE, 1 - governor->debt_ns / most_ns, 1);
}

static void fade(struct cost_budget *budget, double part)
{
	budget->cpu_ns *= part;
	budget->time_ns *= part;
	budget->nr_ticks *= part;
	budget->looks_ns *= part;
}

static void keep_budget(struct governor *governor, const struct governor_load *load)
{
	struct cost_budget *budget = &governor->budget;
	uint64_t most_ns = max_u64(governor->base_period_ns, BUDGET_PERIOD_NS);
	double max_ppm = budget->max_ppm, looks_ppm, wanted_ns;

	if (!budget->max_ppm || !load->own_ns)
		return;
	fade(budget, 1 - between(0, (double)load->window_ns / BUDGET_MEAN_NS, 1));
	budget->cpu_ns += (double)load->own_ns;
	budget->time_ns += (double)load->window_ns;
	budget->nr_ticks += (double)load->nr_ticks;
	budget->looks_ns += (double)min_u64(load->looks_ns, load->own_ns);
	if (budget->time_ns < BUDGET_LEAST_NS || budget->nr_ticks < 1)
		return;
	looks_ppm = between(0, 1e6 * budget->looks_ns / budget->time_ns, BUDGET_LOOKS * max_ppm);
	wanted_ns = 1e6 * (budget->cpu_ns - budget->looks_ns) / budget->nr_ticks /
		    (max_ppm - looks_ppm);
	budget->period_ns =
		(uint64_t)between((double)governor->base_period_ns, wanted_ns, (double)most_ns);
	budget->too_low_ns = wanted_ns > (double)most_ns ? budget->too_low_ns + load->window_ns : 0;
}

uint64_t governor_update(struct governor *governor, const struct governor_load *load)
{
	double former_ns = (double)governor->period_ns;
	double lost_part = load->lost_percent / 100.0 / load->nr_cpus;
	double lost_ns = (double)load->tick_ns * lost_part;
	double others_ns = (double)(load->nr_ticks * load->tick_ns + load->looks_ns) * lost_part;
	double looks_share, left, wanted_ns, ticks_share, least_ns;

	governor->lost_ns += others_ns * load->nr_cpus;
	keep_budget(governor, load);
	least_ns = (double)max_u64(governor->base_period_ns, governor->budget.period_ns);
	if (!governor->max_ppm) {
		governor->period_ns = (uint64_t)least_ns;
		return governor->period_ns;
	}
	settle(governor, others_ns / (double)load->window_ns);
	adapt_lots(governor);
	looks_share = 1e6 * (double)load->looks_ns * lost_part / (double)load->window_ns /
		      governor->max_ppm;
	left = governor->allowance - between(0, looks_share, LOOKS_SHARE * governor->allowance);
	wanted_ns = 1e6 * lost_ns / (ticks_share_of(governor, lost_ns) * left * governor->max_ppm);
	wanted_ns = between(former_ns / 2, wanted_ns, former_ns * 2);
	wanted_ns = between(least_ns, wanted_ns, (double)governor->max_period_ns);
	ticks_share = 1e6 * lost_ns / wanted_ns / governor->max_ppm;
	governor->period_ns = (uint64_t)wanted_ns;
	governor->look_rate = look_rate_of(governor, lost_part);
	governor->idle_rate = between(LOOKS_LEAST, FEW / (double)(load->nr_sleepers + 1), 1);
	governor->stop_share = between(LEAST_STOPS, left - ticks_share, 1);
	return governor->period_ns;
}

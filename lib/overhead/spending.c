// SPDX-License-Identifier: GPL-2.0-or-later
#include "overhead/spending.h"

#include "base/clock.h"
#include "base/minmax.h"
#include "overhead/governor.h"

#define WINDOW_NS     (250 * NS_PER_MS)
#define WINDOW_MIN_NS (16 * NS_PER_MS)

void spending_begin(struct spending *spending, uint64_t now_ns)
{
	spending->began_ns = spending->window_ns = now_ns;
}

void spending_skip(struct spending *spending, uint64_t now_ns)
{
	spending->window_ns = now_ns;
	spending->own_ns = 0;
}

uint64_t spending_own_ns(struct spending *spending, uint64_t cpu_ns)
{
	uint64_t former_ns = spending->own_ns ? spending->own_ns : cpu_ns;

	spending->own_ns = cpu_ns;
	return cpu_ns - min_u64(former_ns, cpu_ns);
}

static uint64_t aside_ns(const struct spending *spending)
{
	return spending->news_ns + spending->away_ns;
}

struct spending_begun spending_begin_tick(const struct spending *spending)
{
	return (struct spending_begun){.at_ns = clock_monotonic_ns(),
				       .aside_ns = aside_ns(spending),
				       .looks_took_ns = spending->looks_took_ns};
}

struct spending_begun spending_begin_looks(const struct spending *spending)
{
	struct spending_begun begun = spending_begin_tick(spending);

	begun.cpu_ns = clock_thread_cpu_ns();
	return begun;
}

static uint64_t took_ns(const struct spending *spending, const struct spending_begun *begun)
{
	uint64_t all_ns = clock_monotonic_ns() - begun->at_ns;

	return all_ns - min_u64(all_ns, aside_ns(spending) - begun->aside_ns);
}

/*
 * Reads of a process' memory wait while it maps memory. Such waits take no CPU time from its
 * threads.
 */
uint64_t spending_add_looks(struct spending *spending, const struct spending_begun *begun)
{
	uint64_t all_ns = took_ns(spending, begun);
	uint64_t cpu_ns = min_u64(all_ns, clock_thread_cpu_ns() - begun->cpu_ns);

	spending->looks_took_ns += all_ns;
	spending->looks_ns += cpu_ns;
	return cpu_ns;
}

/* A single long tick says little about others. */
#define MEAN_OF	      64
#define LONG_FOR_ONCE 4
/* A tick's own cost is at least this part of its mean cost. */
#define LEAST_OWN 0.125

static void add(double *mean, double value, uint64_t nr)
{
	*mean += (value - *mean) / (double)min_u64(nr, MEAN_OF);
}

void spending_add_tick(struct spending *spending, const struct spending_begun *begun)
{
	uint64_t all_ns = took_ns(spending, begun);
	uint64_t looks_ns = spending->looks_took_ns - begun->looks_took_ns;
	double tick_ns = (double)(all_ns - min_u64(all_ns, looks_ns));
	double gap_ns = (double)(begun->at_ns - spending->last_ns);
	bool is_first = !spending->last_ns;

	spending->last_ns = begun->at_ns;
	if (is_first)
		return; /* all threads were new */
	spending->nr_measured++;
	if (spending->nr_measured > 1 && tick_ns > LONG_FOR_ONCE * spending->took_ns)
		tick_ns = LONG_FOR_ONCE * spending->took_ns;
	add(&spending->took_ns, tick_ns, spending->nr_measured);
	add(&spending->gap_ns, gap_ns, spending->nr_measured);
	add(&spending->gaps, gap_ns * gap_ns, spending->nr_measured);
	add(&spending->products, gap_ns * tick_ns, spending->nr_measured);
}

uint64_t spending_tick_ns(const struct spending *spending)
{
	double variance = spending->gaps - spending->gap_ns * spending->gap_ns;
	double covariance = spending->products - spending->gap_ns * spending->took_ns;
	double own_ns = spending->took_ns;

	if (variance > 0 && covariance > 0)
		own_ns -= covariance / variance * spending->gap_ns;
	return (uint64_t)(own_ns > LEAST_OWN * spending->took_ns ? own_ns
								 : LEAST_OWN * spending->took_ns);
}

/* Short at first: a recording begins at the full rate, whose cost must soon be known. */
bool spending_is_due(const struct spending *spending, uint64_t now_ns)
{
	uint64_t so_far_ns = (now_ns - spending->began_ns) / 2;

	return now_ns - spending->window_ns >=
	       min_u64(WINDOW_NS, max_u64(WINDOW_MIN_NS, so_far_ns));
}

void spending_load(struct spending *spending, uint64_t now_ns, uint64_t wake_up_ns,
		   struct governor_load *load)
{
	load->window_ns = now_ns - spending->window_ns;
	load->looks_ns = spending->looks_ns - spending->window_looks_ns;
	load->nr_ticks = spending->nr_ticks - spending->window_ticks;
	load->tick_ns = spending_tick_ns(spending) + wake_up_ns;
	spending->window_ns = now_ns;
	spending->window_looks_ns = spending->looks_ns;
	spending->window_ticks = spending->nr_ticks;
}

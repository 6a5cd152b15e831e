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
}

static uint64_t aside_ns(const struct spending *spending)
{
	return spending->news_ns + spending->away_ns;
}

struct look_begun spending_begin_look(const struct spending *spending)
{
	return (struct look_begun){.began_ns = clock_monotonic_ns(),
				   .aside_ns = aside_ns(spending)};
}

void spending_add_look(struct spending *spending, const struct look_begun *begun)
{
	uint64_t took_ns = clock_monotonic_ns() - begun->began_ns;

	spending->looks_ns += took_ns - min_u64(took_ns, aside_ns(spending) - begun->aside_ns);
}

/* A recording begins at the full rate: what that costs is to be known soon. */
bool spending_is_due(const struct spending *spending, uint64_t now_ns)
{
	uint64_t so_far_ns = (now_ns - spending->began_ns) / 2;

	return now_ns - spending->window_ns >=
	       min_u64(WINDOW_NS, max_u64(WINDOW_MIN_NS, so_far_ns));
}

void spending_load(struct spending *spending, uint64_t now_ns, struct governor_load *load)
{
	uint64_t other_ns = spending->visits_cpu_ns + spending->looks_ns + spending->news_ns;
	uint64_t rest_ns = spending->cpu_ns - min_u64(spending->cpu_ns, other_ns);
	uint64_t nr_ticks = spending->nr_ticks - spending->window_ticks;

	load->window_ns = now_ns - spending->window_ns;
	load->looks_ns = spending->looks_ns - spending->window_looks_ns;
	load->tick_ns =
		(rest_ns - min_u64(rest_ns, spending->window_rest_ns)) / max_u64(nr_ticks, 1);
	spending->window_ns = now_ns;
	spending->window_rest_ns = rest_ns;
	spending->window_looks_ns = spending->looks_ns;
	spending->window_ticks = spending->nr_ticks;
}

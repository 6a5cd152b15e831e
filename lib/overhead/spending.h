/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_OVERHEAD_SPENDING_H
#define PROFC_OVERHEAD_SPENDING_H

#include <stdbool.h>
#include <stdint.h>

struct governor_load;

/*
 * Accounts for the CPU time of profc's own threads, so that the governor knows how much one tick
 * fewer would save. Without a tick, the next one would do its visits, its looks at threads that
 * still sleep, and its reading of births and maps: these save nothing. Nor does a part of the rest,
 * for threads that fell asleep or ended, which grows with the time since the last tick. Gaps
 * between ticks are random, so a straight line through costs over gaps gives the cost after no gap
 * at all: the tick's own.
 */
struct spending {
	uint64_t looks_ns;	/* CPU time */
	uint64_t looks_took_ns; /* wall time: includes waits for locks of the kernel */
	uint64_t news_ns;	/* reading of births and maps */
	uint64_t away_ns;	/* visits, waits for stops included */
	uint64_t nr_ticks;
	/* Recent means: of gaps before ticks, of ticks' costs, of squared gaps, of gap * cost. */
	double gap_ns, took_ns, gaps, products;
	uint64_t nr_measured; /* ticks in these means */
	uint64_t last_ns;     /* when the last tick began */
	/* The window in progress. */
	uint64_t began_ns, window_ns, window_looks_ns, window_ticks;
	uint64_t own_ns; /* spending_own_ns(); 0: it was not told in this window */
};

/* The clocks as looks or a tick begin. */
struct spending_begun {
	uint64_t at_ns, aside_ns, looks_took_ns;
	uint64_t cpu_ns; /* of looks only */
};

/* Begin the first window; windows are short at first. */
void spending_begin(struct spending *spending, uint64_t now_ns);
/* There were no ticks for a while. */
void spending_skip(struct spending *spending, uint64_t now_ns);

struct spending_begun spending_begin_tick(const struct spending *spending);
struct spending_begun spending_begin_looks(const struct spending *spending);
/*
 * Add the CPU time of the calling thread since then, without visits and the reading of births and
 * maps, and return it.
 */
uint64_t spending_add_looks(struct spending *spending, const struct spending_begun *begun);

/* A tick is over: add the time since then, without visits, looks, and reading births and maps. */
void spending_add_tick(struct spending *spending, const struct spending_begun *begun);

/*
 * All threads of profc that sample have used so much CPU time; returns what they used since it was
 * told last, 0 if that was before a pause. Told once a window, before the next one begins.
 */
uint64_t spending_own_ns(struct spending *spending, uint64_t cpu_ns);

/* The CPU time that one tick fewer would save, besides its wake-up; 0: no tick has ended. */
uint64_t spending_tick_ns(const struct spending *spending);

/* Is a window over? */
bool spending_is_due(const struct spending *spending, uint64_t now_ns);
/* Fill in window_ns, nr_ticks, tick_ns and looks_ns, and begin the next window. */
void spending_load(struct spending *spending, uint64_t now_ns, uint64_t wake_up_ns,
		   struct governor_load *load);

#endif

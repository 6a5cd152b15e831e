/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_OVERHEAD_SPENDING_H
#define PROFC_OVERHEAD_SPENDING_H

#include <stdbool.h>
#include <stdint.h>

struct governor_load;

/*
 * What our own threads have used, and for what, so that the governor learns what one tick fewer
 * would save: not visits, nor looks at threads that sleep, nor the reading of what is new, births
 * and maps, which waits for the next tick. All but the CPU time is told by whoever does it.
 */
struct spending {
	uint64_t cpu_ns; /* of all who sample, as last asked */
	uint64_t visits_cpu_ns;
	uint64_t looks_ns, news_ns;
	uint64_t away_ns; /* visits, waits for stops included */
	uint64_t nr_ticks;
	/* The window in progress, and what all that was when it began. */
	uint64_t began_ns, window_ns, window_rest_ns, window_looks_ns, window_ticks;
};

/* Where a look begins. */
struct look_begun {
	uint64_t began_ns, aside_ns;
};

/* Windows begin here, and are short at first. */
void spending_begin(struct spending *spending, uint64_t now_ns);
/* There were no ticks for a while. */
void spending_skip(struct spending *spending, uint64_t now_ns);

struct look_begun spending_begin_look(const struct spending *spending);
/* The time since then, but for what was visits, or reading of what is new. */
void spending_add_look(struct spending *spending, const struct look_begun *begun);

/* Is a window over? Then its cpu_ns is to be brought up to date, and its load asked for. */
bool spending_is_due(const struct spending *spending, uint64_t now_ns);
/* Fills in window_ns, tick_ns and looks_ns, and begins another one. */
void spending_load(struct spending *spending, uint64_t now_ns, struct governor_load *load);

#endif

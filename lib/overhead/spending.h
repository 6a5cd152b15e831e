/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_OVERHEAD_SPENDING_H
#define PROFC_OVERHEAD_SPENDING_H

#include <stdbool.h>
#include <stdint.h>

struct governor_load;

/*
 * What our own threads use, and for what, so that the governor learns what one tick fewer would
 * save: not visits, nor looks at threads that sleep on, nor the reading of what is new, births and
 * maps, all of which would come with the next tick. The same is true of a part of the rest, of
 * threads that have fallen asleep or ended: the longer ago the last tick was, the more of them
 * there are. As gaps are random it shows in the window which part that is: what a tick would take
 * after no gap at all is its own (a line through all of them).
 */
struct spending {
	uint64_t looks_ns, news_ns;
	uint64_t away_ns; /* visits, waits for stops included */
	uint64_t nr_ticks;
	/* Means of late: of gaps before ticks and what those took; of squares, of products. */
	double gap_ns, took_ns, gaps, products;
	uint64_t last_ns; /* when the last tick began */
	/* The window in progress. */
	uint64_t began_ns, window_ns, window_looks_ns;
};

/* Where a look or a tick begins. */
struct spending_begun {
	uint64_t at_ns, aside_ns, looks_ns;
};

/* Windows begin here, and are short at first. */
void spending_begin(struct spending *spending, uint64_t now_ns);
/* There were no ticks for a while. */
void spending_skip(struct spending *spending, uint64_t now_ns);

struct spending_begun spending_begin_part(const struct spending *spending);
/* The time since then, but for what was visits, or reading of what is new. */
void spending_add_look(struct spending *spending, const struct spending_begun *begun);

/* A tick is over: likewise, and without looks. */
void spending_add_tick(struct spending *spending, const struct spending_begun *begun);

/* What a tick takes that one fewer would save, without waking up for it; 0: none was over. */
uint64_t spending_tick_ns(const struct spending *spending);

/* Is a window over? */
bool spending_is_due(const struct spending *spending, uint64_t now_ns);
/* Fills in window_ns, tick_ns and looks_ns, and begins another one. */
void spending_load(struct spending *spending, uint64_t now_ns, uint64_t wake_up_ns,
		   struct governor_load *load);

#endif

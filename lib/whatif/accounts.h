/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_WHATIF_ACCOUNTS_H
#define PROFC_WHATIF_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which threads have to stand still, and for how long, so that a function seems to be faster than
 * it is: while it runs for a time t, all that is not in it is held for a part of t, and what was
 * held is taken off the clock. Each thread has an account: the time that it was held, or has saved
 * in the function, or has slept meanwhile. The largest account of a thread that was in the function
 * is that of the program; a thread owes what its own lacks of it. So threads that are in the
 * function at once are not held for each other, and the clock is behind by the growth of the
 * program's account, not by the sum of all holds.
 *
 * Threads are looked at together, at random moments, and samples are taken of some of those that
 * run. A sample in the function stands for the CPU time of its thread since its sample before. A
 * thread that sleeps until another one of the program wakes it is as good as held, as long as it
 * sleeps: it would be woken as much earlier. To a timer, and to what is outside, that does not
 * apply: what they wake owes all. What waits for a CPU owes it, too: it must not have the CPU of
 * those that are held.
 *
 * Numbers alone: nothing here looks at a thread.
 */
enum whatif_state {
	WHATIF_HITS, /* it runs, in the function */
	WHATIF_RUNS, /* it runs, or waits for a CPU */
	WHATIF_AWAITS_THREAD,
	WHATIF_AWAITS_OUTSIDE, /* a timer, or what is not of the program */
};

/* A look at a thread. */
struct whatif_seen {
	enum whatif_state state;
	uint64_t cpu_ns;     /* HITS: the time that the sample stands for */
	uint64_t slept_ns;   /* since the look before, without holds */
	uint64_t stopped_ns; /* the look itself has stopped it for so long */
};

struct whatif_account {
	uint64_t own_ns;
	struct whatif_seen seen;
	bool sleeps_outside; /* when it was last seen asleep */
	bool is_free;
};

/*
 * No second is held for more than this part of it, wherever it begins: what is beyond is refused.
 */
#define WHATIF_GOVERNOR_SPANS 100 /* of a second, and one more */

struct whatif_governor {
	double most;				      /* 0: any */
	uint64_t spans_ns[WHATIF_GOVERNOR_SPANS + 1]; /* what was allowed in each, a ring */
	uint64_t last;	    /* the span of the last look, counted from time 0 */
	uint64_t within_ns; /* their sum */
};

struct whatif_accounts {
	uint64_t global_ns;
	struct whatif_governor governor;
	uint64_t refused_ns; /* saved in the function, but not held for, as that was too much */
};

/*
 * All threads were looked at: *accounts have their states of this moment. The function is to be
 * faster by that part, 0 to 1.
 */
void whatif_look(struct whatif_accounts *all, struct whatif_account *const *accounts, size_t nr,
		 double part, uint64_t now_ns);
/* A thread that was found now owes nothing. */
void whatif_account_open(struct whatif_account *account, const struct whatif_accounts *all);
/* It was held for this time, which may be more than it owed: that is taken into account. */
void whatif_account_held(struct whatif_account *account, uint64_t ns);
/* A hold of less than 10 us is not worth its cost, and none is longer than 2 ms: 0, or how long. */
uint64_t whatif_account_hold_ns(const struct whatif_account *account,
				const struct whatif_accounts *all);
/* Debts are forgiven: another experiment begins. */
void whatif_account_settle(struct whatif_account *account, const struct whatif_accounts *all);

#endif

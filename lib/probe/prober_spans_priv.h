/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_PROBER_SPANS_PRIV_H
#define PROFC_PROBE_PROBER_SPANS_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/heap_ring.h"
#include "patch/span.h"
#include "probe/believed.h"

struct believed;
struct installation;
struct probed;
struct profile;
struct profile_thread;

/* By number of the gate; as struct slow_calls has them. Borrowed. */
struct slow_limits {
	const uint64_t *least_ns, *most_ns;
};

/* The slow calls of a function: how far they are in the profile. */
struct slow_calls {
	uint64_t least_ns;	/* calls as long are slow; 0: the longest of them, */
	uint64_t most_ns;	/* and those as long as this anyway; 0: not given */
	uint64_t next;		/* of their numbers: those from here on are not in the profile, */
	uint64_t end;		/* and while calls are not counted, these are not to be in it */
	uint64_t awaited;	/* the number of one that was not complete at the last look */
	uint64_t nr_dropped;	/* that are not in the profile */
	struct patch_span seen; /* when the limit was last set, */
	uint64_t seen_cycles;	/* which was then */
};

/* The timed calls of a function, in an installation: how far they are in the profile. */
struct timed_calls {
	uint32_t index;		/* of the installation's spans */
	uint32_t row;		/* in profile.spans, or NO_ROW */
	struct patch_span last; /* as last read */
	struct patch_span kept; /* counted before that, and not in the profile yet */
	struct slow_calls slow;
	uint64_t longest; /* cycles: the longest in the profile */
	uint64_t told_ns; /* in the profile: when it was brought up to date; 0: never */
	struct believed_count begun, ended;
	bool is_spoilt, is_told; /* is_told: for the caller's use */
};

/*
 * Sets probed->timed, once calls may have been timed. `begun` as in struct timed_calls_told.
 */
void timed_calls_init(struct probed *probed, const struct slow_limits *limits,
		      const struct heap_moment *begun);

/* All calls up to now are to be counted; or none of them. */
void timed_calls_keep(struct timed_calls *timed, const struct installation *installation);
void timed_calls_skip(struct timed_calls *timed, const struct installation *installation);

struct timed_calls_told {
	struct profile *profile;
	struct believed *believed;
	const struct heap_moment *begun; /* before the installation: with now, the clock's speed */
	uint64_t start_ns;		 /* CLOCK_MONOTONIC: time 0 of the profile */
	uint64_t to_ns;			 /* now, in the profile */
	bool is_counting, is_gone;	 /* is_gone: the process has ended */
	bool is_last;			 /* the recording is over: nothing can be told later */
};

/*
 * Add what is new to the profile, in which timed->row is set; ever more rarely, but so often that a
 * recording without an end has most of it. False: it can be no program's.
 */
bool timed_calls_tell(struct timed_calls *timed, const struct installation *installation,
		      const struct timed_calls_told *told);

/* span_scale.c: from the processor's clock to times. */
struct span_scale {
	const struct heap_moment *begun;
	struct heap_moment now;
	double ns_per_cycle; /* 0: not known yet */
	uint64_t start_ns;
};

struct span_scale span_scale_since(const struct heap_moment *begun);
uint64_t span_length_ns(const struct span_scale *scale, uint64_t cycles);
/* In the profile. */
uint64_t span_time_ns(const struct span_scale *scale, uint64_t cycles);
uint64_t span_sum_of(const struct patch_span *span);
/* Is the thread one of the process, or of a forked child? */
bool span_has_thread(const struct profile *profile, const struct profile_thread *thread,
		     uint32_t process);
/* The latest thread of a process, or a forked child, with that id; or UINT32_MAX. */
uint32_t span_find_thread(const struct profile *profile, uint32_t process, uint64_t tid);

/* prober_slow.c: set what calls are slow from now on; `now` may be NULL: nothing is known yet. */
void slow_calls_set_limit(struct timed_calls *timed, const struct installation *installation,
			  const struct patch_span *now, const struct span_scale *scale);
/* Slow calls up to now are the last to be told; or none of them is to be. */
void slow_calls_end(struct timed_calls *timed, const struct installation *installation);
void slow_calls_skip(struct timed_calls *timed, const struct installation *installation);
/* Add those that are new to the profile. */
void slow_calls_tell(struct timed_calls *timed, const struct installation *installation,
		     const struct span_scale *scale, const struct timed_calls_told *told);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_PROBER_SPANS_PRIV_H
#define PROFC_PROBE_PROBER_SPANS_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "patch/span.h"
#include "probe/believed.h"

struct believed;
struct heap_moment;
struct installation;
struct probed;
struct profile;

/* The timed calls of a function, in an installation: how far they are in the profile. */
struct timed_calls {
	uint32_t index;		/* of the installation's spans */
	uint32_t row;		/* in profile.spans, or NO_ROW */
	struct patch_span last; /* as last read */
	struct patch_span kept; /* counted before that, and not in the profile yet */
	uint64_t longest;	/* cycles: the longest in the profile */
	uint64_t told_ns;	/* in the profile: when it was brought up to date; 0: never */
	struct believed_count begun, ended;
	bool is_spoilt, is_told; /* is_told: for the caller's use */
};

/* Sets probed->timed. */
void timed_calls_init(struct probed *probed);

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
};

/*
 * Add what is new to the profile, in which timed->row is set; ever more rarely, but so often that a
 * recording without an end has most of it. False: it can be no program's.
 */
bool timed_calls_tell(struct timed_calls *timed, const struct installation *installation,
		      const struct timed_calls_told *told);

#endif

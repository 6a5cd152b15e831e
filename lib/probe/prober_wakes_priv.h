/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_PROBER_WAKES_PRIV_H
#define PROFC_PROBE_PROBER_WAKES_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/prober_spans_priv.h"
#include "profile/wakes.h"

struct noted_calls;
struct patch_notes;
struct profile;

/* The notes of calls of futex(2) in a process and its children. NULL: there are none. */
struct noted_calls *noted_calls_new(struct patch_notes *shared);
void noted_calls_free(struct noted_calls *noted); /* may be NULL */
/* Notes that were lost. */
uint64_t noted_calls_dropped(const struct noted_calls *noted);

struct noted_calls_told {
	struct profile *profile;
	const struct heap_moment *begun; /* as in struct timed_calls_told, as the next */
	uint64_t start_ns;
	uint32_t process; /* row of profile.processes: that the memory was made for */
	bool is_last;	  /* nothing can be told later */
	/* The place of an address in the process; UINT32_MAX: it is in no file. */
	struct frame_id (*frame_of)(void *context, uint64_t address);
	void *context;
};

/*
 * Add waits to the profile that another thread has ended: those that last as long as the pause
 * between samples, or longer, and shorter ones that a sample was in.
 */
void noted_calls_tell(struct noted_calls *noted, const struct noted_calls_told *told);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* True of each walk of an interpreter's frames, whatever bytes it read. */
#ifndef PROFC_TESTS_FUZZ_SCRIPT_CHECKS_H
#define PROFC_TESTS_FUZZ_SCRIPT_CHECKS_H

#include <assert.h>

#include "script/script_walk.h"

static inline void check_wanted(const struct wanted_memory *wanted)
{
	uint32_t nr_bytes = 0;

	assert(wanted->nr <= SNAPSHOT_WANTED_MAX);
	for (size_t i = 0; i < wanted->nr; i++)
		nr_bytes += wanted->at[i].nr_bytes;
	assert(nr_bytes == wanted->nr_bytes && nr_bytes <= WANTED_BYTES_MAX);
}

static inline void check_walk(enum script_outcome outcome, const struct script_walk *walk,
			      size_t nr_natives)
{
	size_t last = 0;

	assert(outcome < SCRIPT_OUTCOME_COUNT && *script_outcome_name(outcome));
	assert(outcome == SCRIPT_PROVED || !walk->nr_frames);
	for (size_t i = 0; i < walk->nr_frames; i++) {
		assert(walk->frames[i].native >= last && walk->frames[i].native < nr_natives);
		last = walk->frames[i].native;
	}
	check_wanted(&walk->wanted);
}

#endif

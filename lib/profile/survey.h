/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_SURVEY_H
#define PROFC_PROFILE_SURVEY_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

/*
 * The quality of a recording, in sums over all samples: those that reached the root and those that
 * did not, why and in which module, and the modules that the time was in.
 */
struct survey_sum {
	uint64_t cpu_ns, runq_ns, blocked_ns;
	uint64_t samples;
};

/* Truncated stacks (or ones limited by --max-depth), by the module of their outermost frame. */
struct survey_end {
	enum stack_end end;
	struct module_id module; /* MODULE_UNKNOWN for empty stacks */
	struct survey_sum sum;
};

struct survey {
	struct survey_sum total;	/* of all samples */
	struct survey_sum unattributed; /* of SAMPLE_UNATTRIBUTED: no stack is known */
	struct survey_sum complete;	/* reached the root, --max-depth included */
	struct survey_sum other_stack;	/* begins on a stack that the thread switched to */
	struct survey_sum unproved;	/* the end is not proved, or is outside every mapping */
	struct survey_end *ends;	/* owned; by CPU time, then blocked time, falling */
	size_t nr_ends;
	struct survey_sum *modules; /* owned; by module_id of the leaf */
};

struct survey *survey_new(const struct profile *profile);
void survey_free(struct survey *survey);

#endif

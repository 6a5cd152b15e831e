/* SPDX-License-Identifier: GPL-2.0-or-later */
/* By how much the kernel's counters of threads have advanced, and between which stacks. */
#ifndef PROFC_PROFILE_ADVANCES_H
#define PROFC_PROFILE_ADVANCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/kernel_counters.h"
#include "profile/ids.h"
#include "stack/stack.h"

/*
 * A counter is not time: it may advance within microseconds, in code that no sample has seen. So a
 * row has the stacks of both samples between which it has advanced, and views attribute it to what
 * these have in common.
 */
struct profile_advance {
	uint64_t time_ns; /* of the later sample */
	uint64_t amount;
	struct thread_id thread;
	struct stack_id before, after; /* STACK_EMPTY: not known */
	uint8_t counter;	       /* enum kernel_counter */
	uint8_t end;		       /* enum stack_end of both */
	bool is_seen; /* it also advanced in the microseconds of the later sample */
};

/* In time order within each thread. */
struct profile_advances {
	struct profile_advance *rows; /* owned by the profile */
	size_t nr, cap;
	struct stack_id
		*charged; /* by row, of profile_charge_advances(); NULL before; owned likewise */
};

/* The largest sum of all rows, so that no sum of views overflows. */
#define ADVANCES_SUM_MAX (UINT64_C(1) << 62)

void advances_release(struct profile_advances *advances);
void advances_add(struct profile_advances *advances, const struct profile_advance *row);
/* By how much a counter has advanced in all threads. */
uint64_t advances_sum(const struct profile_advances *advances, enum kernel_counter counter);

#endif

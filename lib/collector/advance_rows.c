// SPDX-License-Identifier: GPL-2.0-or-later
/* Advances of the kernel's counters, as rows of the profile. */
#include "collector/advance_rows.h"

#include "collector/message.h"
#include "profile/profile.h"

/* Two walks that ended in different ways may lack different callers. */
static bool may_be_compared(const struct sampled_stack *a, const struct sampled_stack *b)
{
	return a->stack.v != STACK_EMPTY.v && b->stack.v != STACK_EMPTY.v && a->end == b->end;
}

void advance_rows_add(struct profile *profile, struct thread_id row,
		      struct advancing_thread *thread, const struct message_advance *said,
		      uint64_t time_ns)
{
	struct profile_advance advance = {.time_ns = time_ns & ~(SAMPLE_TIME_GRAIN_NS - 1),
					  .thread = row,
					  .end = STACK_END_NOT_TAKEN};

	if (thread && said->is_sampled && may_be_compared(&thread->from, &thread->latest)) {
		advance.before = thread->from.stack;
		advance.after = thread->latest.stack;
		advance.end = (uint8_t)thread->latest.end;
	}
	for (int i = 0; i < NR_KERNEL_COUNTERS; i++) {
		advance.counter = (uint8_t)i;
		advance.amount = said->amounts.values[i];
		advance.is_seen = said->seen & KERNEL_COUNTER_BIT(i);
		if (advance.amount)
			advances_add(&profile->advances, &advance);
	}
	if (thread)
		thread->from = said->is_sampled ? thread->latest : (struct sampled_stack){0};
}

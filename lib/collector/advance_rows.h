/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Advances of the kernel's counters, as rows of the profile. */
#ifndef PROFC_COLLECTOR_ADVANCE_ROWS_H
#define PROFC_COLLECTOR_ADVANCE_ROWS_H

#include <stdint.h>

#include "profile/ids.h"
#include "stack/stack.h"
#include "stack/stack_end.h"

struct message_advance;
struct profile;

/* A stack of a sample; STACK_EMPTY: not known. */
struct sampled_stack {
	struct stack_id stack;
	enum stack_end end;
};

/* Zero-initialised: no sample of the thread was taken yet. */
struct advancing_thread {
	struct sampled_stack latest; /* of its last sample */
	struct sampled_stack from;   /* up to which its advances are rows */
};

/* Add what the message says; `thread` NULL: it is about none that was sampled. */
void advance_rows_add(struct profile *profile, struct thread_id row,
		      struct advancing_thread *thread, const struct message_advance *said,
		      uint64_t time_ns);

#endif

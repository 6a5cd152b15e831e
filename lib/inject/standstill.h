/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process with all its threads stopped, while it gets its probes. */
#ifndef PROFC_INJECT_STANDSTILL_H
#define PROFC_INJECT_STANDSTILL_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/stopped.h"

struct err;
struct probe_access;
struct probe_cost;
struct remote;
struct remote_code;
struct target_memory;

/* All threads are stopped: for the patches, or before that. */
struct standstill {
	struct stopped stopped;
	bool is_begun;
	bool is_at_once; /* since before the memory of the probes was made */
};

int standstill_begin(struct standstill *still, const struct probe_access *access,
		     uint64_t patience_ns, struct err *err);
/* Nothing if it has not begun. */
void standstill_end(struct standstill *still, struct probe_cost *cost);
/*
 * A process with one thread is stopped once, for the calls and the patches. If that cannot be now,
 * or there are more threads, one is to be stopped for the calls: NULL stays NULL then.
 */
void standstill_begin_at_once(struct standstill *still, struct remote **remote,
			      const struct probe_access *access, const struct remote_code *code,
			      struct probe_cost *cost);
/* Sharded counters are found by the thread's own data, so all threads need them. */
bool standstill_has_thread_data(const struct standstill *still);
/* Own copies are told apart by the first word there, which the C library makes its address. */
bool standstill_has_own_words(const struct standstill *still, struct target_memory *memory);

#endif

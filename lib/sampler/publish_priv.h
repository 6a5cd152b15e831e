/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Publishes samples as messages, with the length of the sleep before each. */
#ifndef PROFC_SAMPLER_PUBLISH_PRIV_H
#define PROFC_SAMPLER_PUBLISH_PRIV_H

#include <stdint.h>

#include "collector/account.h"

struct proc_schedstat;
struct sampled_thread;
struct sampler;
struct snapshot;

void publish_sample(struct sampler *sampler, struct sampled_thread *thread,
		    const struct snapshot *snapshot, enum seen_state state);
void publish_sleep(struct sampler *sampler, struct sampled_thread *thread);
void publish_slept_while_quiet(struct sampler *sampler, struct sampled_thread *thread,
			       const struct proc_schedstat *clocks);
void publish_slept_to_end(struct sampled_thread *thread, uint64_t now_ns);
void publish_may_sleep_on(struct sampler *sampler, struct sampled_thread *thread,
			  const struct proc_schedstat *clocks, uint64_t now_ns);

#endif

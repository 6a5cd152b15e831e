/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When threads are due. */
#ifndef PROFC_SAMPLER_DUES_PRIV_H
#define PROFC_SAMPLER_DUES_PRIV_H

#include <stdbool.h>
#include <stdint.h>

struct sampled_thread;
struct sampler;

/* The thread is due at that time; with `is_active` before all others. */
void due_put(struct sampler *sampler, struct sampled_thread *thread, bool is_active,
	     uint64_t due_ns);
/* Make it due at once, if it waits to be. */
void due_at_once(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns);
/* It is gone. */
void due_forget(struct sampler *sampler, struct sampled_thread *thread);

#endif

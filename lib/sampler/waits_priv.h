/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_WAITS_PRIV_H
#define PROFC_SAMPLER_WAITS_PRIV_H

#include <stdbool.h>

struct proc_syscall;
struct sampled_thread;
struct sampler;
struct snapshot;

/* Find what the thread sleeps for; `snapshot` is from a peek at it. */
void waits_look(struct sampler *sampler, struct sampled_thread *thread,
		const struct snapshot *snapshot, const struct proc_syscall *syscall);
/*
 * Does another thread have the lock by now that it sleeps for? That owner is published from now on.
 */
bool waits_for_another(struct sampled_thread *thread);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_WAITS_PRIV_H
#define PROFC_SAMPLER_WAITS_PRIV_H

#include <stdbool.h>

struct proc_syscall;
struct sampled_thread;
struct sampler;
struct snapshot;

/* What it sleeps for, by a peek, whose snapshot it is. */
void waits_look(struct sampler *sampler, struct sampled_thread *thread,
		const struct snapshot *snapshot, const struct proc_syscall *syscall);
/* Has the lock that it sleeps for been given to another thread, which is told from now on? */
bool waits_for_another(struct sampled_thread *thread);

#endif

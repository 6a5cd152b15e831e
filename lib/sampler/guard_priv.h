/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that a stop would cut short. */
#ifndef PROFC_SAMPLER_GUARD_PRIV_H
#define PROFC_SAMPLER_GUARD_PRIV_H

#include <stdbool.h>

struct proc_syscall;
struct sampled_thread;
struct sampler;

/* The thread was last observed in this call: would a stop cut it short? */
bool guard_call(const struct sampler *sampler, struct sampled_thread *thread,
		const struct proc_syscall *syscall, bool is_asleep);
/* It is in a long transfer. */
void guard_transfer(const struct sampler *sampler, struct sampled_thread *thread);
void guard_new_thread(const struct sampler *sampler, struct sampled_thread *thread);

#endif

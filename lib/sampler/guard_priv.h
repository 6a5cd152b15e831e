/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls that a stop would cut short. */
#ifndef PROFC_SAMPLER_GUARD_PRIV_H
#define PROFC_SAMPLER_GUARD_PRIV_H

#include <stdbool.h>

struct proc_syscall;
struct sampled_thread;

/*
 * The thread was last observed in this call: would a stop cut it short? `sees_stacks`: the kernel
 * shows us its stacks, by which a later transfer is recognized.
 */
bool guard_call(struct sampled_thread *thread, const struct proc_syscall *syscall, bool is_asleep,
		bool sees_stacks);
/* It is in a long transfer. */
void guard_transfer(struct sampled_thread *thread, bool sees_stacks);
void guard_new_thread(struct sampled_thread *thread, bool sees_stacks);

#endif

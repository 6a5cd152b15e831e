/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stops that would cut a call short, or kill a process. */
#ifndef PROFC_SAMPLER_GUARD_PRIV_H
#define PROFC_SAMPLER_GUARD_PRIV_H

#include <stdbool.h>
#include <stdint.h>

struct proc_syscall;
struct sampled_process;
struct sampled_thread;
struct sampler;
struct visit;

/*
 * The thread was last observed in this call: would a stop cut it short? `sees_stacks`: the kernel
 * shows us its stacks, by which a later transfer is recognized.
 */
bool guard_call(struct sampled_thread *thread, const struct proc_syscall *syscall, bool is_asleep,
		bool sees_stacks);
/* It is in a long transfer. */
void guard_transfer(struct sampled_thread *thread, bool sees_stacks);
void guard_new_thread(struct sampled_thread *thread, bool sees_stacks);

/*
 * Signals of a process go to its leader first, and the end of a child to the thread that started
 * it. While that thread is traced the kernel takes also those for wanted that are ignored
 * (sig_ignored() in kernel/signal.c), and where it is on its way to a stop, or in one, another
 * thread is woken for them. The wait of that one is then continued by restart_syscall(2), for which
 * a filter of system calls (seccomp) may kill the process. So: must this thread, if signals go to
 * it, not be visited now? Where filters forbid that call, and while filters that we may read are
 * not read; but if signals go to all that have these, one of them is visited in the end.
 */
bool guard_addressee(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns);
/* Are filters of its process to be read at a stop of this thread, to which no signals go? */
bool guard_wants_filters(struct sampled_thread *thread);
/* Are they to be read at a stop that comes anyway? It begins now. */
bool guard_begins_visit(struct sampled_thread *thread);
/* They were, or were to be. */
void guard_read_filters(struct sampled_process *process, const struct visit *visit);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads of a process whose core the kernel writes. They never return to their code, and cannot be
 * stopped: they are sampled where they left it. With the lock.
 */
#ifndef PROFC_SAMPLER_CORE_DUMP_PRIV_H
#define PROFC_SAMPLER_CORE_DUMP_PRIV_H

#include <stdbool.h>

struct proc_schedstat;
struct proc_stat;
struct sampled_thread;
struct sampler;
struct visitor;

/*
 * Does its stat show that the kernel writes its core, or has, or would have, without a limit of 0?
 * Then its whole process is due.
 */
void core_dump_see(struct sampler *sampler, struct sampled_thread *thread,
		   const struct proc_stat *stat);
/* Its process writes a core: no thread of it is to be visited any more. */
bool core_dump_is_under_way(const struct sampled_thread *thread);
/*
 * Sample it by its last registers; false: it has not left its code yet, or its stat does not show
 * them.
 */
bool core_dump_sample(struct visitor *visitor, struct sampled_thread *thread,
		      const struct proc_schedstat *clocks, const struct proc_stat *stat);
/* Likewise for a thread that another visitor waits for, which may be in vain for this reason. */
void core_dump_sample_awaited(struct visitor *visitor, struct sampled_thread *thread);

#endif

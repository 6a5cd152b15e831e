// SPDX-License-Identifier: GPL-2.0-or-later
/* User and system CPU time of processes and threads, from the ticks of the kernel. */
#include "proc/cpu_split.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "proc/read.h"
#include "proc/task.h"

uint64_t proc_cpu_split_sum(const struct proc_cpu_split *split)
{
	return split->user_ns + split->system_ns;
}

void proc_cpu_split_add(struct proc_cpu_split *sum, const struct proc_cpu_split *more)
{
	sum->user_ns += more->user_ns;
	sum->system_ns += more->system_ns;
	sum->nr_faults += more->nr_faults;
}

/* Due to the kernel's scaling one of them may decrease by a tick. */
static uint64_t since(uint64_t now, uint64_t base)
{
	return now > base ? now - base : 0;
}

struct proc_cpu_split proc_cpu_split_rest(const struct proc_cpu_split *all,
					  const struct proc_cpu_split *known)
{
	uint64_t rest_ns = since(proc_cpu_split_sum(all), proc_cpu_split_sum(known));
	uint64_t user_ns = min_u64(since(all->user_ns, known->user_ns), rest_ns);

	return (struct proc_cpu_split){.user_ns = user_ns,
				       .system_ns = rest_ns - user_ns,
				       .nr_faults = since(all->nr_faults, known->nr_faults)};
}

static uint64_t tick_ns(void)
{
	return NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
}

struct proc_cpu_split proc_cpu_split_of_stat(const struct proc_stat *stat)
{
	return (struct proc_cpu_split){.user_ns = stat->user_ticks * tick_ns(),
				       .system_ns = stat->system_ticks * tick_ns(),
				       .nr_faults = stat->nr_faults + stat->nr_major_faults};
}

uint64_t proc_cpu_of_children(const struct proc_stat *stat)
{
	return stat->child_ticks * tick_ns();
}

bool proc_read_cpu_split(pid_t tgid, pid_t tid, struct proc_cpu_split *split)
{
	struct proc_stat stat;

	if (!(tid ? proc_read_task_stat(tgid, tid, &stat) : proc_read_process_stat(tgid, &stat)))
		return false;
	*split = proc_cpu_split_of_stat(&stat);
	return true;
}

bool proc_cpu_split_covers(const struct proc_cpu_split *split, uint64_t cpu_ns)
{
	return split->user_ns + split->system_ns + 2 * PROC_CPU_SPLIT_LEAST_NS >= cpu_ns;
}

void cpu_split_meter_begin(struct cpu_split_meter *meter, const struct proc_cpu_split *now)
{
	meter->rests = false;
	if (now)
		meter->base = *now;
	else
		meter->lost = true;
}

void cpu_split_meter_rest(struct cpu_split_meter *meter, const struct proc_cpu_split *now,
			  uint64_t cpu_ns)
{
	struct proc_cpu_split part;
	uint64_t cut_ns;

	if (meter->rests)
		return;
	meter->rests = true;
	if (!now) {
		meter->lost = true;
		return;
	}
	part.user_ns = since(now->user_ns, meter->base.user_ns);
	part.system_ns = since(now->system_ns, meter->base.system_ns);
	part.nr_faults = since(now->nr_faults, meter->base.nr_faults);
	cut_ns = since(cpu_ns, part.user_ns + part.system_ns);
	/* Less than a tick does not show how it divides. */
	if ((part.user_ns || part.system_ns) && proc_cpu_split_covers(&part, cpu_ns)) {
		part.user_ns += cut_ns / 2;
		part.system_ns += cut_ns - cut_ns / 2;
	}
	proc_cpu_split_add(&meter->sum, &part);
}

bool cpu_split_meter_sum(const struct cpu_split_meter *meter, struct proc_cpu_split *sum)
{
	if (meter->lost || (meter->sum.user_ns == 0 && meter->sum.system_ns == 0))
		return false;
	*sum = meter->sum;
	return true;
}

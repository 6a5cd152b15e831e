// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Without samples, profc does not notice that a process has ended, or executes another program. So
 * it checks each process now and then.
 */
#include "base/clock.h"
#include "base/minmax.h"
#include "probe/prober.h"
#include "proc/read.h"
#include "sampler/sampler_priv.h"

/* Young processes change soon; the checks of all take less than a tenth of a CPU. */
#define AGE_PER_PAUSE	 8
#define LONGEST_PAUSE_NS (10 * NS_PER_MS)
#define EACH_PAUSE_NS	 (100 * NS_PER_US)
/* Ended threads only take memory here, so they are swept rarely. */
#define SWEEP_PAUSE_NS (100 * NS_PER_MS)
#define SWEEP_PART     16

static uint64_t pause_ns(const struct sampler *sampler, const struct sampled_process *process)
{
	uint64_t age_ns = process_age_ns(process, sampler->tick.now_ns);

	return min_u64(age_ns / AGE_PER_PAUSE, LONGEST_PAUSE_NS) +
	       sampler->clocks.due.nr * EACH_PAUSE_NS;
}

/* The leader is the last to be reaped. */
static bool has_ended(const struct sampled_process *process)
{
	pid_t pid = process->roster->pid;
	struct proc_stat stat;

	return !proc_read_task_stat(pid, pid, &stat) || stat.state == 'X' ||
	       (stat.state == 'Z' && stat.nr_threads <= 1);
}

/* The process is gone with its last thread. */
static void sweep_threads(struct sampler *sampler, struct sampled_process *process)
{
	struct roster_process *roster = process->roster;
	uint64_t began_ns = clock_monotonic_ns();
	struct roster_thread *thread = roster->threads, *next;

	for (; thread; thread = next) {
		bool is_only = thread == roster->threads && !thread->next;

		next = thread->next;
		if (!book_is_dead(thread))
			continue;
		roster_thread_gone(sampler->roster, thread);
		if (is_only)
			return;
	}
	process->cpu.sweep_again_ns =
		sampler->tick.now_ns +
		max_u64(SWEEP_PAUSE_NS, SWEEP_PART * (clock_monotonic_ns() - began_ns));
}

void follow_processes(struct sampler *sampler)
{
	struct sampled_process *process;

	while ((process = due_queue_take(&sampler->clocks.due, sampler->tick.now_ns))) {
		due_queue_put(&sampler->clocks.due, &process->due,
			      sampler->tick.now_ns + 1 + pause_ns(sampler, process));
		if (!roster_is_in_program(sampler->roster, process->roster, NULL, false,
					  sampler->tick.now_ns))
			continue; /* its record has ended */
		if (sampler->options.prober && prober_has_heap(sampler->options.prober))
			maps_publish_if_new(sampler, process, sampler->tick.now_ns);
		if (sampler->tick.now_ns >= process->cpu.sweep_again_ns || has_ended(process))
			sweep_threads(sampler, process);
	}
}

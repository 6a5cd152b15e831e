// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The clocks of processes show which of them run, and whether threads run that count as asleep.
 * While the clock of a process stands still all of its threads sleep on.
 */
#include "base/clock.h"
#include "base/minmax.h"
#include "base/process_clock.h"
#include "sampler/dues_priv.h"
#include "sampler/sampler_priv.h"

#define SHORTEST_CLOCK_NS (20 * NS_PER_MS)
#define CLOCK_EACH_NS	  (100 * NS_PER_US)
#define CLOCK_EACH_PART	  25
/* The clock of a process that is watched is read so many times more rarely. */
#define WATCHED_PAUSES 4

/* Sweeps through its threads take at most this part of the time. */
#define SWEEP_PART 16
/* Threads run so long between two readings; a wake-up takes longer. */
#define READ_APART_NS (100 * NS_PER_US)
#define WAKE_UP_NS    (15 * NS_PER_US)
/* A process that hides more than this part of a period is swept at once. */
#define URGENT_PART 4
/* With so many threads, the kernel takes long to sum up their clocks. */
#define MANY_THREADS 64

/*
 * Make threads due that have run since they were seen asleep, before those that may still sleep;
 * `is_urgent`: even if looks have no credit.
 */
static void sweep_threads(struct sampler *sampler, struct sampled_process *process, bool is_urgent)
{
	uint64_t now_ns = sampler->tick.now_ns, took_ns;
	struct spending_begun begun = spending_begin_looks(&sampler->spending);
	struct roster_thread *roster = process->roster->threads, *next;
	struct proc_schedstat clocks;

	for (; roster; roster = next) {
		struct sampled_thread *thread = roster->owner;

		next = roster->next;
		if (thread->read_ns == now_ns || thread->visitor)
			continue;
		/* An ended thread cannot be read. */
		if (!tracee_clocks(&roster->tracee, &clocks) ||
		    (clocks.pcount != thread->sleep.pcount &&
		     !sleeps_unseen(thread, clocks.pcount)))
			due_put(sampler, thread, thread->is_active || is_urgent, 0);
	}
	took_ns = spending_add_looks(&sampler->spending, &begun);
	governor_charge_looks(&sampler->governor, took_ns);
	process->cpu.sweep_again_ns = now_ns + SWEEP_PART * took_ns;
}

/* CPU time that the threads used since the last sweep and that no sample accounts for. */
static uint64_t new_hidden_ns(const struct sampler *sampler, struct sampled_process *process)
{
	struct process_cpu *cpu = &process->cpu;
	uint64_t known_ns = cpu->base_ns + cpu->covered_ns + cpu->handed_out_ns;
	uint64_t hidden_ns = cpu->latest_ns > known_ns ? cpu->latest_ns - known_ns : 0;

	if (process->unseen_ns == sampler->tick.now_ns || hidden_ns < cpu->known_rest_ns)
		cpu->known_rest_ns = hidden_ns;
	return hidden_ns - cpu->known_rest_ns;
}

/*
 * Sweep the threads if the process hides more CPU time than a few wake-ups take. If looks have no
 * credit, only if a thread must be working: otherwise a recorder beside many processes that wake
 * briefly would find that thread late.
 */
static bool shall_sweep(const struct sampler *sampler, const struct sampled_process *process,
			uint64_t hidden_ns, bool *is_urgent)
{
	*is_urgent = hidden_ns > sampler->governor.period_ns / URGENT_PART;
	if (sampler->tick.now_ns < process->cpu.sweep_again_ns ||
	    (!sampler->tick.look_ns && !*is_urgent))
		return false;
	return hidden_ns >
	       WAKE_UP_NS + min_u64(process->nr_active, sampler->session->nr_cpus) * READ_APART_NS;
}

/* False: the kernel permits no timer. */
static bool watch(struct sampler *sampler, struct sampled_process *process)
{
	struct process_clock *clock = &process->cpu.clock;
	bool was_watched = clock->is_watched;
	bool is_watched = process_clock_watch(clock, process->roster->pid, process->cpu.latest_ns);

	sampler->clocks.nr_watched += is_watched && !was_watched;
	return is_watched;
}

/*
 * Reading clocks of processes that do nothing takes less than a hundredth of a CPU; at a low
 * frequency less: few ticks could sample what is found. A process that is watched is found at the
 * first tick of the kernel in which it runs, and only its shorter runs are left to be found here.
 */
static uint64_t clock_pause_ns(struct sampler *sampler, struct sampled_process *process,
			       uint64_t quiet_ns)
{
	uint64_t each_ns =
		max_u64(CLOCK_EACH_NS, sampler->governor.base_period_ns / CLOCK_EACH_PART);

	uint64_t all_ns = sampler->clocks.due.nr * each_ns;

	if (quiet_ns / SLEEP_PART > SHORTEST_CLOCK_NS + all_ns && sampler->clocks.alarms.fd >= 0 &&
	    sampler->clocks.due.nr <= sampler->clocks.alarms.most && watch(sampler, process))
		all_ns *= WATCHED_PAUSES;
	return min_u64(quiet_ns / SLEEP_PART, SHORTEST_CLOCK_NS + all_ns);
}

/* Its only thread, if this tick has read it, so that nothing else is to be found; or NULL. */
static const struct sampled_thread *only_thread_read(const struct sampler *sampler,
						     const struct sampled_process *process)
{
	const struct roster_thread *only = process->roster->threads;
	const struct sampled_thread *thread = only ? only->owner : NULL;

	return thread && !process->cpu.had_threads && thread->is_chosen &&
			       thread->read_ns == sampler->tick.now_ns
		       ? thread
		       : NULL;
}

static void check_process(struct sampler *sampler, struct sampled_process *process)
{
	struct process_cpu *cpu = &process->cpu;
	uint64_t now_ns = sampler->tick.now_ns;
	uint64_t former_ns = cpu->latest_ns;
	const struct sampled_thread *only = only_thread_read(sampler, process);
	bool is_gone, is_urgent;

	if (only) {
		process->is_quiet = false;
		process->read_ns = now_ns;
		cpu->split_seen = only->split_read.seen;
		cpu->split_seen_ns = cpu->latest_ns =
			max_u64(former_ns, cpu->base_ns + cpu->covered_ns);
		book_credit(sampler, process);
		due_queue_put(&sampler->clocks.due, &process->due, now_ns + 1);
		return;
	}
	if (process->roster->nr_threads >= MANY_THREADS)
		process_clock_keep(&cpu->clock, process->roster->pid);
	is_gone = !roster_process_cpu_ns(process->roster, &cpu->latest_ns);
	if (!is_gone)
		process->met.last_ns =
			now_ns; /* it may be dead: it counts as met by threads alone */
	if (cpu->latest_ns == former_ns && !is_gone) {
		if (!process->is_quiet)
			process->quiet_since_ns = process->read_ns;
		process->is_quiet = true;
		process->quiet_until_ns = process->read_ns = now_ns;
		due_queue_put(
			&sampler->clocks.due, &process->due,
			now_ns + 1 +
				clock_pause_ns(sampler, process, now_ns - process->quiet_since_ns));
		return;
	}
	/* A process that has not run yet has no time, either. To ask all threads takes long. */
	if (is_gone && roster_end_if_dead(sampler->roster, process->roster->pid))
		return;
	process->is_quiet = false;
	process->read_ns = now_ns;
	book_credit(sampler, process);
	if (!is_gone) {
		book_see_split(process);
		book_see_rest(sampler, process, now_ns);
	}
	due_queue_put(&sampler->clocks.due, &process->due, now_ns + 1);
	if (!shall_sweep(sampler, process, new_hidden_ns(sampler, process), &is_urgent) && !is_gone)
		return;
	sweep_threads(sampler, process, is_urgent);
	cpu->known_rest_ns =
		cpu->latest_ns -
		min_u64(cpu->latest_ns, cpu->base_ns + cpu->covered_ns + cpu->handed_out_ns);
}

/* As many are taken from the kernel at once. */
#define ALARMS_AT_ONCE 16

void process_clocks_heed(struct sampler *sampler)
{
	pid_t pids[ALARMS_AT_ONCE];
	size_t nr;

	if (!sampler->clocks.nr_watched)
		return; /* alarms of processes that have ended can wait */
	do {
		nr = clock_alarms_take(&sampler->clocks.alarms, pids, ALARMS_AT_ONCE);
		for (size_t i = 0; i < nr; i++) {
			struct roster_process *process =
				roster_find_process(sampler->roster, pids[i]);
			struct sampled_process *record = process ? process->owner : NULL;

			if (!record || !record->cpu.clock.is_watched)
				continue; /* the alarm of one that has ended */
			process_clock_expired(&record->cpu.clock);
			sampler->clocks.nr_watched--;
			check_process(sampler, record);
		}
	} while (nr == ALARMS_AT_ONCE);
}

/* Those for which there is no time come first in the next tick. */
void process_clocks_check(struct sampler *sampler)
{
	uint64_t until_ns = clock_monotonic_ns() + governor_clocks_ns(&sampler->governor);
	struct sampled_process *process;

	do {
		process = due_queue_take(&sampler->clocks.due, sampler->tick.now_ns);
		if (process)
			check_process(sampler, process);
	} while (process && clock_monotonic_ns() < until_ns);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "sampler/sampler_priv.h"

/*
 * Threads that sleep on are looked at rarely. That one of them has begun to work is told by the
 * clock of its process, which knows of all of them in one reading: if it shows more time than the
 * looks have found, the idle threads are gone through at once.
 */

/*
 * Pauses between readings, which take so long, and as long for each thread of those whose clock is
 * not kept: this small a part of a CPU, as long as that leaves no thread undetected for long; else
 * a larger one. To read our own clock before and after takes longer than most of them.
 */
#define READING_NS     200
#define SHORT_PAUSE_NS (50 * NS_PER_MS)
#define LONG_PAUSE_NS  (150 * NS_PER_MS)
#define SMALL_SHARE    2000
#define LARGE_SHARE    400

/*
 * Gone through: about so long a thread, and so small a part of a CPU. So many times without delay:
 * thousands of threads that were met before they first ran are found out of sight by what each of
 * them used then, and whoever begins to work soon after was unseen for all the pause.
 */
#define HUNTED_LOOK_NS (4 * NS_PER_US)
#define HUNT_SHARE     100
#define HUNTS_AT_ONCE  4

/* The clock of a running thread, as /proc shows it, may be a tick of 100 Hz old. */
#define STALE_NS (10 * NS_PER_MS)

/* How much may be out of sight for no other reason than when we looked. */
static uint64_t allowance_ns(const struct sampler *sampler)
{
	return STALE_NS + sampler->nr_active * (STALE_NS + 2 * sampler->schedule.period_ns);
}

/*
 * Of a crowd the clock is read so often that it is caught between two looks that come late: what
 * is out of sight only then is in sight at the next reading.
 */
static bool is_first_suspicion(struct sampled_process *process)
{
	bool is_first = process->clock.is_kept && !process->is_suspect;

	process->is_suspect = is_first;
	return is_first;
}

/* Is more of its time out of sight than was when the idle threads had last been gone through? */
static bool hides_time(struct sampled_process *process, uint64_t allowance)
{
	uint64_t clock_ns, unseen_ns;

	if (round_is_crowd(process->nr_threads))
		process_clock_keep(&process->clock, process->pid);
	if (process->nr_threads < 2 || !clock_process_cpu_ns(process->pid, &clock_ns))
		return false;
	/* All that its threads had used before the first look, and those that were refused use. */
	unseen_ns = clock_ns > process->seen_cpu_ns ? clock_ns - process->seen_cpu_ns : 0;
	if (process->is_settled && unseen_ns > process->unseen_cpu_ns + allowance) {
		if (is_first_suspicion(process))
			return false;
		process->is_settled = false;
		return true;
	}
	process->is_suspect = false;
	if (!process->is_settled || unseen_ns < process->unseen_cpu_ns)
		process->unseen_cpu_ns = unseen_ns;
	process->is_settled = true;
	return false;
}

static uint64_t reading_ns(const struct sampled_process *process)
{
	if (process->nr_threads < 2)
		return 0; /* it is not read */
	return process->clock.is_kept ? READING_NS : READING_NS * (1 + process->nr_threads);
}

static uint64_t pause_after(uint64_t readings_ns)
{
	uint64_t pause_ns = max_u64(readings_ns * SMALL_SHARE, SHORT_PAUSE_NS);

	if (pause_ns <= LONG_PAUSE_NS)
		return pause_ns;
	return max_u64(readings_ns * LARGE_SHARE, LONG_PAUSE_NS);
}

/* Each is paid for by a pause, of which some are owed at most. */
static void pay_for_hunt(struct sampler *sampler, size_t nr_idle, uint64_t now_ns)
{
	uint64_t price_ns = nr_idle * HUNTED_LOOK_NS * HUNT_SHARE;

	sampler->hunts_paid_ns = max_u64(sampler->hunts_paid_ns, now_ns) + price_ns;
	sampler->hunt_debt_ns = (HUNTS_AT_ONCE - 1) * price_ns;
}

static bool may_hunt(const struct sampler *sampler, uint64_t now_ns)
{
	return sampler->hunts_paid_ns <= now_ns + sampler->hunt_debt_ns;
}

void hunt_now_and_then(struct sampler *sampler, uint64_t now_ns)
{
	uint64_t allowance = allowance_ns(sampler);
	size_t nr_idle = sampler->nr_threads - sampler->nr_active;
	uint64_t readings_ns = 0;
	bool hidden = false;

	if (now_ns < sampler->hunt_again_ns || sampler->nr_hunted || sampler->nr_unseen ||
	    !may_hunt(sampler, now_ns))
		return;
	for (size_t i = 0; i < sampler->nr_processes; i++) {
		hidden |= hides_time(sampler->processes[i], allowance);
		readings_ns += reading_ns(sampler->processes[i]);
	}
	if (hidden) {
		sampler->nr_hunted = nr_idle;
		pay_for_hunt(sampler, nr_idle, now_ns);
	}
	sampler->hunt_again_ns = now_ns + pause_after(readings_ns);
}

void hunt_saw_clock(struct sampled_thread *thread, uint64_t cpu_ns)
{
	thread->process->seen_cpu_ns += cpu_ns - thread->seen_cpu_ns;
	thread->seen_cpu_ns = cpu_ns;
}

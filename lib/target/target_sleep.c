// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "proc/read.h"
#include "target/target_priv.h"

/*
 * A system call that a stop has broken off is to last no longer than it would have. No file tells
 * when it began; but threads are seen asleep, and they have not run since if they have not been
 * scheduled in. Who has long been asleep when it is seen first, as most are by attaching, has left
 * its CPU when its call began, which many kernels tell by the CPU's own clock.
 */

static bool is_seen_call(const struct seen_sleep *seen, const struct proc_syscall *syscall)
{
	return seen->since_ns && seen->call.nr == syscall->nr && seen->call.sp == syscall->sp &&
	       memcmp(seen->call.args, syscall->args, sizeof(syscall->args)) == 0;
}

/* Of other calls a stop at the end of their time does no harm. */
static bool is_worth_a_glance(const struct tracee *tracee)
{
	return tracee->care.is_unrestarted &&
	       target_asks_for_signals_first(tracee->priv->sleep.call.nr);
}

static void note_yielded(const struct tracee *tracee, struct seen_sleep *seen)
{
	struct proc_status status;

	seen->knows_yielded = proc_read_status(tracee->tid, &status);
	seen->nr_yielded = seen->knows_yielded ? status.nr_yielded : 0;
}

/* Reading that takes 10 to 15 us: so many at once, as by attaching, and so many a second. */
#define LEFT_READ_MAX	   1024
#define LEFT_READ_PAUSE_NS (NS_PER_SEC / 512)

static bool may_read_left(struct target *target)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t all_ns = LEFT_READ_MAX * LEFT_READ_PAUSE_NS;

	target->left_read_ns = max_u64(target->left_read_ns, now_ns - min_u64(all_ns, now_ns));
	if (target->left_read_ns + LEFT_READ_PAUSE_NS > now_ns)
		return false;
	target->left_read_ns += LEFT_READ_PAUSE_NS;
	return true;
}

/* Which CPU it has left, and when; it has slept ever since. */
static bool read_left_cpu(struct tracee *tracee, struct seen_sleep *seen)
{
	struct proc_schedstat clocks;
	struct proc_stat stat;

	if (!target_read_stat(tracee, &stat) ||
	    !proc_read_exec_start(tracee->tgid, tracee->tid, &seen->left_cpu_ns))
		return false;
	seen->left_cpu = stat.cpu;
	if (!target_clocks(tracee, &clocks) || clocks.pcount != seen->pcount)
		seen->left_cpu_ns = 0;
	return seen->left_cpu_ns;
}

/* Whether it is asked matters only to who is woken in vain; nobody knows it of who is new. */
static void read_left(struct tracee *tracee, struct seen_sleep *seen)
{
	struct target *target = tracee->priv->target;

	if (!tracee->care.is_unrestarted || !target_would_be_stretched(tracee) ||
	    (seen->not_before_ns && !target_is_woken_in_vain(tracee)) || !may_read_left(target) ||
	    !read_left_cpu(tracee, seen))
		return;
	if (!target->cpu_clocks)
		target->cpu_clocks = cpu_clocks_new();
	cpu_clocks_want(target->cpu_clocks, seen->left_cpu);
}

/* It takes a moment to begin a call. */
#define LEFT_EARLIER_NS (2 * NS_PER_MS)

void target_know_sleep(struct tracee *tracee)
{
	struct seen_sleep *seen = &tracee->priv->sleep;
	uint64_t earlier_ns;
	struct cpu_time left;

	if (!seen->left_cpu_ns || !cpu_clocks_time(tracee->priv->target->cpu_clocks, seen->left_cpu,
						   seen->left_cpu_ns, seen->since_ns, &left))
		return;
	seen->left_cpu_ns = 0;
	if (left.latest_ns >= seen->since_ns)
		return;
	seen->since_ns = max_u64(left.latest_ns, seen->not_before_ns);
	earlier_ns = left.error_ns + LEFT_EARLIER_NS;
	if (left.latest_ns > earlier_ns)
		seen->not_before_ns = max_u64(seen->not_before_ns, left.latest_ns - earlier_ns);
}

static void note_seen(struct tracee *tracee, struct seen_sleep *seen,
		      const struct proc_syscall *syscall, const struct proc_schedstat *clocks)
{
	bool is_new = seen->pcount != clocks->pcount || !is_seen_call(seen, syscall);

	seen->call = *syscall;
	seen->pcount = clocks->pcount;
	seen->cpu_ns = clocks->cpu_ns;
	if (!is_new)
		return;
	seen->not_before_ns = seen->last_ns;
	seen->since_ns = clock_monotonic_ns();
	seen->knows_yielded = false;
	seen->left_cpu_ns = 0;
	read_left(tracee, seen);
}

void target_saw_asleep(struct tracee *tracee, const struct proc_syscall *syscall,
		       const struct proc_schedstat *clocks)
{
	struct seen_sleep *seen = &tracee->priv->sleep;
	struct target *target = tracee->priv->target;

	if (syscall->kind != PROC_SYSCALL_INSIDE || tracee->priv->asked_in_sleep)
		return;
	note_seen(tracee, seen, syscall, clocks);
	if (!is_worth_a_glance(tracee))
		return;
	tracee_list_add(&target->sleepers, tracee);
	if (!seen->knows_yielded)
		note_yielded(tracee, seen);
}

/*
 * Where the kernel does not count waits either, its count is of the times scheduled out, and says
 * nothing of who runs.
 */
static uint64_t times_run(struct tracee *tracee)
{
	struct proc_schedstat clocks;

	if (!target_clocks(tracee, &clocks) || !clocks.runq_ns)
		return UINT64_MAX;
	return clocks.pcount - tracee->priv->sleep.pcount;
}

bool target_sleeps_as_seen(struct tracee *tracee)
{
	return tracee->care.is_unrestarted && times_run(tracee) == 0;
}

/*
 * Awake, who has left its CPU of its own since is in a call after that. Not so who is still waiting
 * for a CPU, or for another one.
 */
static bool is_yet_to_sleep_again(struct tracee *tracee)
{
	const struct seen_sleep *seen = &tracee->priv->sleep;
	struct proc_status status;

	if (seen->knows_yielded && proc_read_status(tracee->tid, &status))
		return status.nr_yielded == seen->nr_yielded;
	return times_run(tracee) <= 1;
}

bool target_may_be_timing_out(struct tracee *tracee)
{
	target_know_sleep(tracee);
	return target_is_timing_out(tracee) && is_yet_to_sleep_again(tracee);
}

/* More than a thread that was woken for a signal takes until it stops for it. */
#define WAY_OUT_NS (50 * NS_PER_US)

/* On which it may lose its CPU to others, and stop. */
#define WAY_OUT_RUNS 4

bool target_comes_out_of(const struct tracee *tracee, const struct proc_syscall *syscall,
			 const struct proc_schedstat *clocks)
{
	const struct seen_sleep *seen = &tracee->priv->sleep;

	return is_seen_call(seen, syscall) && clocks->pcount - seen->pcount <= WAY_OUT_RUNS &&
	       clocks->cpu_ns - seen->cpu_ns < WAY_OUT_NS;
}

/* The first of all its stops finds caches cold, and takes three times as long. */
#define COLD_WAY_OUT_NS (150 * NS_PER_US)

static bool has_run_no_longer(const struct tracee *tracee, const struct proc_schedstat *clocks,
			      uint64_t most_ns)
{
	const struct seen_sleep *seen = &tracee->priv->sleep;

	return clocks->pcount - seen->pcount <= 1 && clocks->cpu_ns - seen->cpu_ns < most_ns;
}

/* For who sleeps for no longer at a time, a signal that comes when it has just woken is common. */
#define SHORT_SLEEP_NS (2 * NS_PER_MS)

/*
 * Was it woken by the signal? It has been scheduled in once; but so it has if its call was over and
 * the signal met it in the next one before that slept. To believe that call older than it is would
 * end it too early. So the time of the one that it was seen asleep in must not have been up,
 * however long before that it had begun; and that something else has ended it just now is left out
 * only where it had slept for long, compared with what the thread has run since.
 */
static bool is_on_its_way_out(struct tracee *tracee, uint64_t timeout_ns)
{
	const struct seen_sleep *seen = &tracee->priv->sleep;
	uint64_t now_ns = clock_monotonic_ns();
	struct proc_schedstat clocks;

	return now_ns - seen->since_ns >= SHORT_SLEEP_NS &&
	       now_ns < seen->not_before_ns + timeout_ns && target_clocks(tracee, &clocks) &&
	       clocks.pcount == seen->pcount + 1 &&
	       has_run_no_longer(tracee, &clocks,
				 tracee->priv->nr_stops <= 1 ? COLD_WAY_OUT_NS : WAY_OUT_NS);
}

/*
 * Asked to stop while it slept as seen. But if it had run right after that, and its time may have
 * been up, it may have been asked in its next call, which may be the same. Who was woken for the
 * stop alone has come to a CPU once.
 */
static bool comes_out_as_asked(struct tracee *tracee, uint64_t timeout_ns)
{
	const struct tracee_private *priv = tracee->priv;
	struct proc_schedstat clocks;

	return priv->asked_in_sleep &&
	       priv->asked_awake_ns < priv->sleep.not_before_ns + timeout_ns &&
	       target_clocks(tracee, &clocks) &&
	       has_run_no_longer(tracee, &clocks, COLD_WAY_OUT_NS);
}

/* Who was asked to stop before it had run since it was seen asleep is in the very same call. */
uint64_t target_call_began_ns(struct tracee *tracee, const struct proc_syscall *syscall,
			      uint64_t timeout_ns, bool by_signal)
{
	const struct tracee_private *priv = tracee->priv;

	if (priv->entered_ns)
		return priv->entered_ns;
	target_know_sleep(tracee);
	if (is_seen_call(&priv->sleep, syscall) &&
	    (comes_out_as_asked(tracee, timeout_ns) ||
	     (by_signal && is_on_its_way_out(tracee, timeout_ns))))
		return priv->sleep.since_ns;
	return clock_monotonic_ns();
}

/*
 * Seen asleep in it first, a call had begun some time before: so much as a rule, and where there
 * are many threads, or profc was busy, so much at most.
 */
#define SEEN_LATE_NS   (4 * NS_PER_MS)
#define SEEN_LATEST_NS (20 * NS_PER_MS)

bool target_time_may_be_up(const struct seen_sleep *seen, uint64_t timeout_ns)
{
	uint64_t began_ns = max_u64(seen->not_before_ns, seen->since_ns - SEEN_LATEST_NS);

	return clock_monotonic_ns() >= began_ns + timeout_ns;
}

bool target_slept_until_timeout(struct tracee *tracee, const struct proc_syscall *syscall,
				uint64_t timeout_ns)
{
	const struct seen_sleep *seen = &tracee->priv->sleep;

	return is_seen_call(seen, syscall) && times_run(tracee) == 1 &&
	       clock_monotonic_ns() + SEEN_LATE_NS >= seen->since_ns + timeout_ns;
}

/* Sleeps of more are met by looks. */
#define LONG_SLEEP_NS (200 * NS_PER_MS)

/* Says whether it is worth another glance. */
static bool glance_at(struct tracee *tracee, uint64_t now_ns)
{
	struct proc_schedstat before, after;
	struct proc_syscall syscall;
	struct proc_stat stat;

	if (!target_clocks(tracee, &before))
		return false;
	if (before.pcount == tracee->priv->sleep.pcount)
		return now_ns - tracee->priv->sleep.since_ns < LONG_SLEEP_NS;
	if (tracee->interrupting || !target_read_syscall(tracee, &syscall) ||
	    syscall.kind != PROC_SYSCALL_INSIDE || !target_read_stat(tracee, &stat) ||
	    stat.state != 'S')
		return true;
	if (target_clocks(tracee, &after) && after.pcount == before.pcount) {
		target_take_care(tracee, &syscall);
		target_saw_asleep(tracee, &syscall, &after);
		return is_worth_a_glance(tracee);
	}
	return true;
}

#define GLANCE_PAUSE_NS (2 * NS_PER_MS)

uint64_t target_glance_at_sleepers(struct target *target, uint64_t now_ns)
{
	if (!target->sleepers.nr)
		return UINT64_MAX;
	if (now_ns < target->glance_again_ns)
		return target->glance_again_ns;
	for (size_t i = target->sleepers.nr; i-- > 0;) {
		struct tracee *tracee = target->sleepers.at[i];

		if (glance_at(tracee, now_ns))
			continue;
		tracee_list_remove(&target->sleepers, tracee);
		target_may_close_files(target, tracee);
	}
	target->glance_again_ns = now_ns + GLANCE_PAUSE_NS;
	return target->glance_again_ns;
}

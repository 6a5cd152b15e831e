// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"
#include "proc/read.h"
#include "sampler/sampler_priv.h"
#include "snapshot/snapshot.h"
#include "target/target.h"

/* Between the moment of a tick and our noticing, and between a stop and our reading clocks. */
#define CLOCK_SLACK_NS (30 * NS_PER_US)

/* Shorter waits are those of a thread that nobody kept from its CPU. */
#define NO_WAIT_NS (10 * NS_PER_US)

/*
 * The timer of a tick also fires timers of the target that would have been due a little later
 * (timer slack), so that a tick finds more threads just woken than there should be. Whether
 * a thread that waits for its CPU in such a call was woken, or driven off its CPU by us, is
 * told by its count of preemptions. Asked while it is held: afterwards it may be preempted.
 * A thread that was never met in such a call is spared the reading, which takes as long as
 * all the rest of its stop.
 */
static bool was_just_woken(struct sampled_thread *thread, const struct snapshot *snapshot,
			   uint64_t waited_ns)
{
	struct proc_status status;
	bool preempted;

	thread->makes_waits |= target_is_wait(snapshot->syscall_nr);
	if (!thread->makes_waits || waited_ns < NO_WAIT_NS ||
	    !proc_read_status(snapshot->tid, &status))
		return false;
	preempted = status.nr_preempted != thread->nr_preempted;
	thread->nr_preempted = status.nr_preempted;
	return !preempted && target_is_wait(snapshot->syscall_nr);
}

/*
 * A thread that was on a CPU at the tick has begun to wait for one since then, if at all: we
 * may have driven it off ourselves. One that began to wait before was not running.
 */
enum seen_state look_kind(const struct sampler *sampler, const struct look_held *held)
{
	const struct snapshot *snapshot = held->snapshot;
	struct sampled_thread *thread = held->thread;
	uint64_t stopped_ns = look_stopped_ns(sampler, held);

	/* Asked while it slept, or fallen asleep before it could stop. */
	if (snapshot->state != THREAD_STATE_RUNNING)
		return SEEN_BLOCKED;
	if (stopped_ns - held->waited_ns + CLOCK_SLACK_NS < thread->looked_ns ||
	    was_just_woken(thread, snapshot, held->waited_ns))
		return SEEN_RUNNABLE;
	return SEEN_RUNNING;
}

/* A tick no later than that was not kept from a CPU; and a stop is noticed so soon as a rule. */
#define ON_TIME_NS (50 * NS_PER_US)
#define NOTICE_NS  (60 * NS_PER_US)

/* It has not left its CPU, or it began to wait for it when we came there, at a random moment. */
static bool ran_at_random_moment(const struct look_held *held)
{
	const struct sampled_thread *thread = held->thread;
	const struct snapshot *snapshot = held->snapshot;
	uint64_t ran_ns = snapshot->cpu_ns - thread->looked_cpu_ns;

	if (thread->stopped_pcount == thread->looked_pcount || held->waited_ns < NO_WAIT_NS)
		return true;
	return thread->looked_late_ns < ON_TIME_NS &&
	       snapshot->time_ns <= thread->looked_ns + held->waited_ns + ran_ns + NOTICE_NS;
}

/*
 * Of the CPU time of a thread so large a part at most waits for a better look: as much may come to
 * be shown as unattributed when it ends.
 */
#define CARRIED_PART 8

static bool may_carry(const struct sampled_thread *thread, uint64_t cpu_ns)
{
	return thread->surely_ran &&
	       cpu_ns - thread->sure_cpu_ns <= (cpu_ns - thread->counted_cpu_ns) / CARRIED_PART;
}

/*
 * At a normal priority we get the CPU of a thread of the target where the scheduler sees fit: when
 * that sleeps, or as it makes a call that brings the scheduler's books up to date, as to read its
 * CPU clock. Who is driven off its CPU then, or by another thread, and is awake when we look, was
 * met where such things happen and not where it used its time: that waits for a better look. So it
 * was with a sixth of those who left their CPU before they could stop, and a hundredth of the
 * others. Nor is it known when one began to wait whose stop was noticed late. Where there are none
 * but those, they will do.
 */
enum seen_state look_kind_to_tell(const struct sampler *sampler, const struct look_held *held)
{
	struct sampled_thread *thread = held->thread;
	uint64_t cpu_ns = held->snapshot->cpu_ns;

	/*
	 * It fell asleep after it was looked at, or has just woken from a call that would return
	 * for its time but for that: in such calls there would be more looks than in others.
	 */
	if (held->kind == SEEN_BLOCKED && thread->found_awake)
		return SEEN_RUNNABLE;
	if (held->kind != SEEN_RUNNING || sampler->placement.realtime)
		return held->kind;
	if (!ran_at_random_moment(held))
		return may_carry(thread, cpu_ns) ? SEEN_RUNNABLE : SEEN_RUNNING;
	thread->surely_ran = true;
	thread->sure_cpu_ns = cpu_ns;
	return SEEN_RUNNING;
}

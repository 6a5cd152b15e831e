// SPDX-License-Identifier: GPL-2.0-or-later
/* One visit: the lock is given back while a thread is traced, so that others can lead on. */
#include <sched.h>

#include "base/clock.h"
#include "proc/read.h"
#include "sampler/sampler_priv.h"
#include "snapshot/snapshot.h"

/* So long a stop is awaited spinning, from an idle CPU. */
#define SPIN_NS (200 * NS_PER_US)

size_t visit_stack_limit(struct sampled_thread *thread)
{
	struct tracee_stacks *stacks = &thread->roster->tracee.stacks;
	const struct thread_hints *hints = thread->hints;

	stacks->root_sp = atomic_load_explicit(&hints->root_sp, memory_order_relaxed);
	stacks->behind_sp = atomic_load_explicit(&hints->behind_sp, memory_order_relaxed);
	return atomic_load_explicit(&hints->max_stack_bytes, memory_order_relaxed);
}

static enum visit_outcome await_spinning(struct visit *visit)
{
	enum visit_outcome outcome;

	do {
		outcome = visit_wait(visit, false);
	} while (outcome == VISIT_PENDING &&
		 clock_monotonic_ns() - visit->interrupted_ns < SPIN_NS);
	return outcome;
}

/* Without the lock. PENDING: the recording has ended, and the end of this thread will detach. */
static enum visit_outcome await_stop(struct visitor *visitor, bool spins)
{
	struct visit *visit = &visitor->visit;
	enum visit_outcome outcome = VISIT_PENDING;

	if (spins) {
		outcome = await_spinning(visit);
		if (outcome == VISIT_PENDING)
			pool_hand_over(visitor);
	}
	while (outcome == VISIT_PENDING) {
		outcome = visit_wait(visit, true);
		if (outcome != VISIT_PENDING)
			break;
		if (atomic_load(&visitor->sampler->session->is_over))
			return VISIT_PENDING;
		visit_ask_again(visit);
	}
	return outcome;
}

/* How long this thread of ours has waited for a CPU. */
static uint64_t own_wait_ns(const struct visitor *visitor)
{
	struct proc_schedstat clocks;

	return proc_read_schedstat(visitor->schedstat_fd, &clocks) ? clocks.runq_ns : 0;
}

static enum visit_outcome trace(struct visitor *visitor, struct tracee *tracee, size_t stack_bytes)
{
	struct visit *visit = &visitor->visit;
	uint64_t waited_ns = visitor->spins ? 0 : own_wait_ns(visitor);
	enum visit_outcome outcome = visit_begin(visit, tracee->tgid, tracee->tid);

	if (outcome == VISIT_PENDING)
		outcome = await_stop(visitor, visitor->spins);
	if (outcome != VISIT_STOPPED)
		return outcome;
	if (!visit_capture(visit, tracee, stack_bytes, visitor->snapshot))
		outcome = VISIT_GONE;
	visit_end(visit);
	visitor->detached_ns = clock_monotonic_ns();
	visitor->waited_ns = visitor->spins ? 0 : own_wait_ns(visitor) - waited_ns;
	return outcome;
}

static void note_reaped(struct sampler *sampler, const struct visit *visit)
{
	if (!visit->is_reaped || !sampler->options.run ||
	    visit->stopped_tid != sampler->options.pids[0])
		return;
	sampler->result.command_reaped = true;
	sampler->result.command_status = visit->status;
}

void visit_thread(struct visitor *visitor, struct sampled_thread *thread, bool is_asleep)
{
	struct sampler *sampler = visitor->sampler;
	struct tracee *tracee = &thread->roster->tracee;
	size_t stack_bytes = visit_stack_limit(thread);
	enum visit_outcome outcome;
	uint64_t now_ns = clock_monotonic_ns();

	sampler->counts.nr_begun++;
	visitor->spins = sampler->idle.some_idle && thread->cpu != sched_getcpu();
	thread->visitor = visitor;
	atomic_store(&visitor->busy_since_ns, now_ns);
	pthread_mutex_unlock(&sampler->lock);
	outcome = trace(visitor, tracee, stack_bytes);
	pthread_mutex_lock(&sampler->lock);
	atomic_store(&visitor->busy_since_ns, 0);
	thread->visitor = NULL;
	note_reaped(sampler, &visitor->visit);
	if (thread->is_gone)
		book_free_thread(thread);
	else if (!sampler->session->is_over)
		visited_thread(visitor, thread, outcome, is_asleep);
}

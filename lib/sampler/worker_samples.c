// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/schedule.h"
#include "sampler/worker_priv.h"
#include "snapshot/snapshot.h"

uint64_t worker_profile_time(const struct worker *worker, uint64_t time_ns)
{
	uint64_t start_ns = worker->options.start_ns;

	return time_ns > start_ns ? time_ns - start_ns : 0;
}

static void emit(struct worker *worker, struct worker_thread *thread, struct sample *sample)
{
	sample->thread = thread->id;
	sample->time_ns =
		worker_profile_time(worker, sample->time_ns) & ~(SAMPLE_TIME_GRAIN_NS - 1);
	worker->nr_samples += sample->nr;
	worker->cpu_ns += sample->cpu_ns;
	if (sample->kind == SAMPLE_UNATTRIBUTED) {
		worker->unattributed_cpu_ns += sample->cpu_ns;
		worker->unattributed_blocked_ns += sample->blocked_ns;
	}
	profile_add_sample(worker->profile, sample);
}

void worker_emit_gathered(struct worker *worker, struct worker_thread *thread)
{
	if (thread->has_sleep)
		emit(worker, thread, &thread->sleep);
	if (thread->has_run)
		emit(worker, thread, &thread->run);
	thread->has_sleep = false;
	thread->has_run = false;
}

void worker_add_sleep(struct worker_thread *thread, uint64_t until_ns, uint32_t nr)
{
	struct weights weights = account_slept_until(&thread->account, until_ns);

	if (!thread->has_sleep) {
		thread->sleep = (struct sample){.stack = thread->sleep_stack,
						.syscall_nr = thread->sleep_syscall,
						.kind = SAMPLE_BLOCKED,
						.end = thread->sleep_end};
		thread->has_sleep = true;
	}
	thread->sleep.time_ns = until_ns;
	thread->sleep.blocked_ns += weights.blocked_ns;
	thread->sleep.nr += nr;
}

void worker_add_running(struct worker *worker, struct worker_thread *thread,
			const struct message_sighting *sighting, const struct worker_stack *stack)
{
	struct weights weights =
		sighting->kind == SIGHTING_RUNNING
			? account_running(&thread->account, &sighting->clocks, &sighting->losses)
			: account_waiting(&thread->account, &sighting->clocks, &sighting->losses);
	struct sample run = {.time_ns = sighting->clocks.time_ns,
			     .cpu_ns = weights.cpu_ns,
			     .runq_ns = weights.runq_ns,
			     .stack = stack->id,
			     .nr = 1,
			     .syscall_nr = (int16_t)sighting->snapshot->syscall_nr,
			     .kind = SAMPLE_RUNNING,
			     .end = (uint8_t)stack->end};

	worker_emit_gathered(worker, thread);
	thread->run = run;
	thread->has_run = true;
	thread->was_running = true;
	thread->was_preempted = sighting->kind == SIGHTING_WAITING &&
				sighting->snapshot->syscall_nr == SNAPSHOT_NO_SYSCALL;
	thread->ran_since_flush = true;
}

void worker_add_blocked(struct worker *worker, struct worker_thread *thread,
			const struct message_sighting *sighting, const struct worker_stack *stack)
{
	struct weights weights = account_blocked(&thread->account, &sighting->clocks);

	worker_emit_gathered(worker, thread);
	thread->was_running = false;
	thread->was_preempted = false;
	thread->sleep_stack = stack->id;
	thread->sleep_end = (uint8_t)stack->end;
	thread->sleep_syscall = (int16_t)sighting->snapshot->syscall_nr;
	thread->has_sleep = true;
	thread->sleep = (struct sample){.time_ns = sighting->clocks.time_ns,
					.blocked_ns = weights.blocked_ns,
					.stack = thread->sleep_stack,
					.nr = 1,
					.syscall_nr = thread->sleep_syscall,
					.kind = SAMPLE_BLOCKED,
					.end = thread->sleep_end};
}

void worker_hand_out_rest(struct worker *worker, struct worker_thread *thread,
			  const struct account_clocks *clocks)
{
	struct weights rest;
	struct sample sample;

	worker_emit_gathered(worker, thread);
	/* When counted anew, it is elsewhere. */
	thread->was_running = thread->was_preempted = false;
	rest = account_rest(&thread->account, clocks);
	if (!rest.cpu_ns && !rest.runq_ns && !rest.blocked_ns)
		return;
	sample = (struct sample){.time_ns = clocks->time_ns,
				 .cpu_ns = rest.cpu_ns,
				 .runq_ns = rest.runq_ns,
				 .blocked_ns = rest.blocked_ns,
				 .stack = STACK_EMPTY,
				 .syscall_nr = -1,
				 .kind = SAMPLE_UNATTRIBUTED,
				 .end = STACK_END_NOT_TAKEN};
	emit(worker, thread, &sample);
}

static const struct account_losses no_losses;

/* What it ran after its last look, at the same place as far as is known: no look of its own. */
static void add_tail(struct worker *worker, struct worker_thread *thread,
		     const struct account_clocks *end)
{
	struct weights rest = account_running(&thread->account, end, &no_losses);
	struct sample tail = thread->run;

	tail.time_ns = end->time_ns;
	tail.cpu_ns = rest.cpu_ns;
	tail.runq_ns = rest.runq_ns;
	tail.nr = 0;
	worker_emit_gathered(worker, thread);
	emit(worker, thread, &tail);
}

void worker_lengthen_last_run(struct worker *worker, struct worker_thread *thread,
			      const struct account_clocks *end)
{
	struct account account = thread->account;
	struct weights rest = account_rest(&account, end);

	if (!thread->was_running)
		return;
	/* A look that found it waiting tells nothing about where it ran, but if it was driven off.
	 */
	if (thread->was_preempted && thread->has_run) {
		rest = account_running(&thread->account, end, &no_losses);
		thread->run.time_ns = end->time_ns;
		thread->run.cpu_ns += rest.cpu_ns;
		thread->run.runq_ns += rest.runq_ns;
	} else if (rest.cpu_ns &&
		   (thread->was_preempted ||
		    (thread->run.cpu_ns &&
		     rest.cpu_ns <= worker->options.period_ns * SCHEDULE_MOST_PERIODS))) {
		add_tail(worker, thread, end);
	}
}

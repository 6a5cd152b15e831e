// SPDX-License-Identifier: GPL-2.0-or-later
/* Gives samples their weights; the last sample of each thread is held back. */
#include "collector/samples.h"

#include <sys/syscall.h>

#include "base/minmax.h"
#include "collector/message.h"
#include "snapshot/snapshot.h"

/* Two of a thousand gaps between samples of a running thread exceed this many mean gaps. */
#define MOST_GAPS 6

uint64_t samples_profile_time(const struct sample_sink *sink, uint64_t time_ns)
{
	return time_ns > sink->start_ns ? time_ns - sink->start_ns : 0;
}

static void emit(struct sample_sink *sink, struct thread_id row, const struct sample *sample)
{
	struct sample out = *sample;

	out.thread = row;
	out.time_ns = samples_profile_time(sink, sample->time_ns) & ~(SAMPLE_TIME_GRAIN_NS - 1);
	sink->cpu_ns += out.cpu_ns;
	if (out.kind == SAMPLE_UNATTRIBUTED) {
		sink->unattributed_cpu_ns += out.cpu_ns;
		sink->unattributed_blocked_ns += out.blocked_ns;
	}
	profile_add_sample(sink->profile, &out);
}

static void emit_or_leave_out(struct sample_sink *sink, struct thread_id row,
			      const struct sample *sample, bool is_outside)
{
	if (!is_outside) {
		emit(sink, row, sample);
		return;
	}
	sink->left_out.cpu_ns += sample->cpu_ns;
	sink->left_out.blocked_ns += sample->blocked_ns;
	sink->left_out.nr_samples += sample->nr;
}

/* Confirmed time is a sample of its own, without an observation. */
static void emit_sleep(struct sample_sink *sink, struct thread_samples *thread)
{
	const struct last_sleep *sleep = &thread->sleep;
	struct sample known = sleep->sample;

	if (!sleep->is_held)
		return;
	if (sleep->sample.nr || sleep->sample.blocked_ns)
		emit_or_leave_out(sink, thread->row, &sleep->sample, sleep->is_outside);
	known.nr = 0;
	known.time_ns = sleep->known_until_ns;
	known.blocked_ns = sleep->known_ns;
	if (known.blocked_ns)
		emit_or_leave_out(sink, thread->row, &known, sleep->is_outside);
}

void samples_emit_held(struct sample_sink *sink, struct thread_samples *thread)
{
	emit_sleep(sink, thread);
	if (thread->run.is_held)
		emit_or_leave_out(sink, thread->row, &thread->run.sample, thread->run.is_outside);
	thread->sleep.is_held = false;
	thread->run.is_held = false;
}

/*
 * It sleeps where it slept before, and woke once in between: all its time off the CPU was spent
 * there, in either of the two sleeps.
 */
static bool sleeps_there_again(const struct last_sleep *before, const struct sample *sample,
			       uint64_t pcount)
{
	return before->is_known && !before->is_outside && pcount == before->pcount + 1 &&
	       sample->stack.v == before->sample.stack.v && sample->end == before->sample.end &&
	       sample->syscall_nr == before->sample.syscall_nr &&
	       sample->labels == before->sample.labels;
}

static void hold_sleep(struct thread_samples *thread, const struct sample *sample, uint64_t pcount)
{
	struct last_sleep sleep = {.sample = *sample,
				   .known_until_ns = sample->time_ns,
				   .pcount = pcount,
				   .is_held = true,
				   .is_known = true};

	if (sleeps_there_again(&thread->sleep, sample, pcount)) {
		sleep.known_ns = sample->blocked_ns;
		sleep.sample.blocked_ns = 0;
		sleep.sample.nr = 0;
	}
	thread->run.is_latest = false;
	thread->sleep = sleep;
}

/*
 * The call of a sleep that was stopped and continued: restart_syscall(2) continues the call before.
 */
static int32_t call_of(const struct thread_samples *thread, int32_t syscall_nr,
		       struct stack_id stack)
{
	const struct sample *run = &thread->run.sample, *sleep = &thread->sleep.sample;

	if (syscall_nr != SYS_restart_syscall)
		return syscall_nr;
	if (thread->run.is_latest && run->stack.v == stack.v && run->syscall_nr >= 0)
		return run->syscall_nr;
	if (thread->sleep.is_known && sleep->stack.v == stack.v && sleep->syscall_nr >= 0)
		return sleep->syscall_nr;
	return syscall_nr;
}

void samples_add(struct sample_sink *sink, struct thread_samples *thread,
		 const struct message_sample *seen, struct stack_id stack, enum stack_end end)
{
	bool is_blocked = seen->state == SEEN_BLOCKED;
	int32_t syscall_nr = call_of(thread, seen->snapshot->syscall_nr, stack);
	struct account_weights weights =
		account_seen(&thread->account, seen->state, &seen->clocks, &seen->losses);
	struct sample sample = {.time_ns = seen->clocks.time_ns,
				.cpu_ns = weights.cpu_ns,
				.runq_ns = weights.runq_ns,
				.blocked_ns = weights.blocked_ns,
				.stack = stack,
				.nr = 1,
				.syscall_nr = (int16_t)(syscall_nr == SNAPSHOT_PAGE_FAULT
								? SAMPLE_PAGE_FAULT
								: syscall_nr),
				.kind = is_blocked ? SAMPLE_BLOCKED : SAMPLE_RUNNING,
				.end = (uint8_t)end,
				.labels = thread->labels};

	samples_emit_held(sink, thread);
	if (is_blocked) {
		hold_sleep(thread, &sample, seen->pcount);
		sink->nr_samples += thread->sleep.sample.nr;
		return;
	}
	sink->nr_samples++;
	thread->runs.cpu_ns += sample.cpu_ns;
	thread->runs.nr += sample.cpu_ns > 0;
	thread->run =
		(struct last_run){.sample = sample,
				  .is_held = true,
				  .is_latest = true,
				  .was_preempted = seen->state == SEEN_RUNNABLE && syscall_nr < 0};
}

void samples_leave_out(struct sample_sink *sink, struct thread_samples *thread,
		       const struct message_sample *seen, enum stack_end end)
{
	uint64_t before = sink->nr_samples;

	samples_add(sink, thread, seen, STACK_EMPTY, end);
	sink->nr_samples = before;
	sink->left_out.nr_cut += !stack_end_is_complete(end);
	if (seen->state == SEEN_BLOCKED)
		thread->sleep.is_outside = true;
	else
		thread->run.is_outside = true;
}

/* Without an observation, as that was emitted before. */
static void hold_again(struct thread_samples *thread)
{
	if (thread->sleep.is_held)
		return;
	thread->sleep.sample.blocked_ns = thread->sleep.known_ns = 0;
	thread->sleep.sample.nr = 0;
	thread->sleep.is_held = true;
}

void samples_lengthen_sleep(struct sample_sink *sink, struct thread_samples *thread,
			    const struct message_sample *seen)
{
	struct last_sleep *sleep = &thread->sleep;

	if (!sleep->is_known)
		return;
	hold_again(thread);
	sleep->known_ns += account_blocked_until(&thread->account, seen->slept_sure_ns);
	sleep->known_until_ns = max_u64(seen->slept_sure_ns, sleep->sample.time_ns);
	if (seen->slept_until_ns <= seen->slept_sure_ns)
		return;
	samples_emit_held(sink, thread);
	hold_again(thread);
	sleep->sample.time_ns = sleep->known_until_ns = seen->slept_until_ns;
	sleep->sample.blocked_ns = account_blocked_until(&thread->account, seen->slept_until_ns);
	sleep->sample.nr = 1;
	sink->nr_samples += sleep->is_outside ? 0 : 1;
}

void samples_forget_sleep(struct thread_samples *thread)
{
	thread->run.is_latest = false;
	thread->sleep.is_known = false;
}

void samples_add_unattributed(struct sample_sink *sink, struct thread_id row, uint64_t time_ns,
			      const struct account_weights *weights)
{
	struct sample sample = {.time_ns = time_ns,
				.cpu_ns = weights->cpu_ns,
				.runq_ns = weights->runq_ns,
				.blocked_ns = weights->blocked_ns,
				.stack = STACK_EMPTY,
				.syscall_nr = SNAPSHOT_NO_SYSCALL,
				.kind = SAMPLE_UNATTRIBUTED,
				.end = STACK_END_NOT_TAKEN};

	if (sink->is_within)
		sink->left_out.unknown_cpu_ns += weights->cpu_ns;
	else if (weights->cpu_ns || weights->runq_ns || weights->blocked_ns)
		emit(sink, row, &sample);
}

void samples_rest(struct sample_sink *sink, struct thread_samples *thread,
		  const struct account_clocks *clocks)
{
	struct account_weights rest;

	samples_emit_held(sink, thread);
	thread->run.is_latest = false; /* when counting restarts, it is elsewhere */
	rest = account_rest(&thread->account, clocks);
	samples_add_unattributed(sink, thread->row, clocks->time_ns, &rest);
}

/* The run that is held back lasted until then. */
static void lengthen_run(struct thread_samples *thread, const struct account_clocks *end)
{
	struct account_weights rest =
		account_seen(&thread->account, SEEN_RUNNING, end, &(struct account_losses){0});

	thread->run.sample.time_ns = end->time_ns;
	thread->run.sample.cpu_ns += rest.cpu_ns;
	thread->run.sample.runq_ns += rest.runq_ns;
}

/*
 * The time that it ran after its last sample, in the same place as far as is known: no observation.
 */
static void add_tail(struct sample_sink *sink, struct thread_samples *thread,
		     const struct account_clocks *end)
{
	samples_emit_held(sink, thread);
	thread->run.sample.cpu_ns = thread->run.sample.runq_ns = 0;
	thread->run.sample.nr = 0;
	thread->run.is_held = true;
	lengthen_run(thread, end);
}

/*
 * Was it sampled up to its end? If stops are left out, or ticks get rarer, samples are further
 * apart than periods.
 */
static bool was_sampled_to_end(const struct sample_sink *sink, const struct thread_samples *thread,
			       uint64_t rest_cpu_ns)
{
	const struct sampled_runs *runs = &thread->runs;

	return thread->run.sample.cpu_ns &&
	       rest_cpu_ns <= MOST_GAPS * max_u64(sink->period_ns, runs->cpu_ns / runs->nr);
}

void samples_end(struct sample_sink *sink, struct thread_samples *thread,
		 const struct account_clocks *clocks)
{
	const struct last_run *run = &thread->run;
	struct account account = thread->account;
	uint64_t rest_cpu_ns = account_rest(&account, clocks).cpu_ns;

	/* A sample of a runnable thread shows where it ran only if it was preempted there. */
	if (run->is_latest && run->was_preempted && run->is_held)
		lengthen_run(thread, clocks);
	else if (run->is_latest && rest_cpu_ns &&
		 (run->was_preempted || was_sampled_to_end(sink, thread, rest_cpu_ns)))
		add_tail(sink, thread, clocks);
	samples_rest(sink, thread, clocks);
}

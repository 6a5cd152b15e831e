// SPDX-License-Identifier: GPL-2.0-or-later
/* Publishes samples as messages, with the length of the sleep before them. */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/index_set.h"
#include "base/minmax.h"
#include "proc/program.h"
#include "sampler/publish_priv.h"
#include "sampler/sampler_priv.h"
#include "snapshot/snapshot.h"

static struct account_clocks clocks_of(const struct snapshot *snapshot)
{
	return (struct account_clocks){.time_ns = snapshot->time_ns,
				       .cpu_ns = snapshot->cpu_ns,
				       .runq_ns = snapshot->runq_ns};
}

/* A message with the facts about the sleep that ended, or still lasts. */
static struct message *message_about(struct sampled_thread *thread, uint64_t now_ns)
{
	struct message *message = message_new(MESSAGE_SAMPLE, now_ns);
	struct message_sample *sample = &message->body.sample;

	sample->thread = thread->serial;
	if (thread->sleep.nr) {
		sample->slept_sure_ns = thread->sleep.sure_ns;
		sample->slept_until_ns = thread->sleep.until_ns;
		thread->sleep.nr = 0;
	}
	thread->published_ns = now_ns;
	return message;
}

void publish_sleep(struct sampler *sampler, struct sampled_thread *thread)
{
	struct message *message;

	if (!thread->sleep.nr)
		return;
	message = message_about(thread, thread->sleep.until_ns);
	if (thread->sleep.wait.owner_at)
		message->body.sample.wait = thread->sleep.wait; /* without the text */
	collector_publish(sampler->collector, message);
}

/*
 * An estimate of when it first woke. It was scheduled in several times since it was last seen
 * asleep, and no clock has the first moment. Of the times off its CPU, the first belongs to the
 * sleep in which it was seen; on average all are equally long.
 */
static uint64_t woke_ns(const struct seen_sleep *sleep, const struct proc_schedstat *clocks,
			uint64_t nr_sleeps, uint64_t now_ns)
{
	uint64_t since_ns = now_ns - sleep->until_ns;
	uint64_t awake_ns = clocks->cpu_ns - sleep->cpu_ns + (clocks->runq_ns - sleep->runq_ns);

	return sleep->until_ns + (since_ns - min_u64(awake_ns, since_ns)) / nr_sleeps;
}

/*
 * Extend the sleep to its end. `is_asleep`: another sleep has begun since; else the thread has a
 * CPU, so that its clocks include all waits for one. Clocks that run backwards belong to another
 * thread, which has the id since an exec.
 */
static void slept_on(struct seen_sleep *sleep, const struct proc_schedstat *clocks, bool is_asleep,
		     uint64_t now_ns)
{
	uint64_t nr_wakes = clocks->pcount - sleep->pcount;
	uint64_t until_ns = now_ns;

	if (!sleep->is_known || !sleep->is_asleep || sleep->is_over || now_ns <= sleep->until_ns ||
	    clocks->pcount < sleep->pcount)
		return;
	sleep->is_over = nr_wakes > 0;
	if (nr_wakes)
		until_ns = woke_ns(sleep, clocks, nr_wakes + is_asleep, now_ns);
	if (until_ns <= sleep->until_ns)
		return;
	sleep->until_ns = until_ns;
	if (nr_wakes + is_asleep <= 1)
		sleep->sure_ns = until_ns;
	sleep->nr++;
}

static void slept_until(struct seen_sleep *sleep, uint64_t until_ns)
{
	if (!sleep->is_known || !sleep->is_asleep || sleep->is_over || until_ns <= sleep->until_ns)
		return;
	sleep->until_ns = sleep->sure_ns = until_ns;
	sleep->nr++;
}

/* A sleep that is looked at so rarely has lasted long, and was certainly seen. */
#define RARE_PERIODS 4

/*
 * Do clocks give the time after its last sample? Else the next sleep takes it, as this one took the
 * tail of the previous. All short sleeps must be treated alike: if those seen had their own tails,
 * and shared the time of those not seen, then long sleeps would get too much, as they are seen more
 * often.
 */
static bool is_rare(const struct sampler *sampler, const struct seen_sleep *sleep)
{
	return (sleep->until_ns - sleep->from_ns) / SLEEP_PART >
	       RARE_PERIODS * sampler->governor.base_period_ns;
}

/*
 * While the clock of its process did not move, none of its threads had a CPU. But a thread that
 * woke may have waited for one; its own clocks now say how long.
 */
void publish_slept_while_quiet(struct sampler *sampler, struct sampled_thread *thread,
			       const struct proc_schedstat *clocks)
{
	const struct sampled_process *process = thread->process;
	const struct seen_sleep *sleep = &thread->sleep;

	if (is_rare(sampler, sleep) && clocks->pcount != sleep->pcount &&
	    clocks->runq_ns >= sleep->runq_ns && process->quiet_since_ns <= sleep->until_ns &&
	    process->quiet_until_ns > clocks->runq_ns - sleep->runq_ns)
		slept_until(&thread->sleep,
			    process->quiet_until_ns - (clocks->runq_ns - sleep->runq_ns));
}

/* The thread has ended without readable clocks; the clock of its process shows short runs. */
void publish_slept_to_end(struct sampled_thread *thread, uint64_t now_ns)
{
	slept_until(&thread->sleep, now_ns);
	if (thread->sleep.until_ns == now_ns)
		thread->read_ns = now_ns;
}

/* The last message about a sleep: if it woke at most once, all time off its CPU belongs to it. */
void publish_may_sleep_on(struct sampler *sampler, struct sampled_thread *thread,
			  const struct proc_schedstat *clocks, uint64_t now_ns)
{
	struct seen_sleep *sleep = &thread->sleep;
	bool is_asleep = clocks->pcount != sleep->pcount && !thread->was_running;

	if ((clocks->pcount - sleep->pcount <= 1 && !is_asleep) || is_rare(sampler, sleep))
		slept_on(sleep, clocks, is_asleep, now_ns);
	sleep->is_over = true;
}

/* Shorter gaps come from clocks read one after the other; a host takes a CPU for longer. */
#define STOLEN_GRAIN_NS (50 * NS_PER_US)

/*
 * Time that the host of a virtual machine took from the thread: neither of its clocks has it,
 * although it has not left its CPU since the stop of its last sample.
 */
static uint64_t stolen_ns(const struct sampled_thread *thread, const struct snapshot *snapshot)
{
	const struct seen_sleep *sleep = &thread->sleep;
	bool stayed =
		sleep->is_known && !sleep->is_asleep && thread->clocks.pcount == sleep->pcount + 1;
	uint64_t elapsed_ns = snapshot->time_ns - sleep->from_ns;
	uint64_t known_ns = snapshot->cpu_ns - sleep->cpu_ns + snapshot->runq_ns - sleep->runq_ns +
			    thread->cost.held_ns;

	return stayed && elapsed_ns > known_ns + STOLEN_GRAIN_NS ? elapsed_ns - known_ns : 0;
}

static void note_sleep(struct sampled_thread *thread, const struct snapshot *snapshot,
		       bool is_asleep)
{
	struct seen_sleep *sleep = &thread->sleep;

	*sleep = (struct seen_sleep){.is_known = true,
				     .is_asleep = is_asleep,
				     .pcount = snapshot->pcount,
				     .from_ns = snapshot->time_ns,
				     .until_ns = snapshot->time_ns,
				     .sure_ns = snapshot->time_ns,
				     .cpu_ns = snapshot->cpu_ns,
				     .runq_ns = snapshot->runq_ns,
				     .syscall_nr = snapshot->syscall_nr,
				     .wait = sleep->wait};
	regs_get(&snapshot->regs, arch_regs(snapshot->arch)->sp, &sleep->sp);
}

/* NULL: the name is the same, or belongs to a program that is about to begin. */
static char *new_name(struct sampled_thread *thread)
{
	const struct tracee *tracee = &thread->roster->tracee;
	char name[PROC_COMM_MAX_BYTES];

	if (thread->name || !proc_program_read_comm(thread->process->roster->program, tracee->tgid,
						    tracee->tid, name, sizeof(name)))
		return NULL;
	thread->name = hash_bytes(name, strlen(name)) | 1;
	return xstrdup(name);
}

/*
 * Has the queue room for the stack? After a stack that was dropped, also a smaller one of the
 * thread waits for the room that was lacking: the next sample takes the time of those that were
 * dropped, so where deep stacks are dropped, the shallow ones between them would take all of it.
 */
static bool has_room(struct sampler *sampler, struct sampled_thread *thread,
		     const struct snapshot *snapshot)
{
	size_t nr_bytes = snapshot->nr_bytes + snapshot->nr_kernel_bytes;

	if (nr_bytes < thread->cost.lacking_bytes)
		nr_bytes = thread->cost.lacking_bytes;
	if (!collector_has_room(sampler->collector, nr_bytes)) {
		thread->cost.lacking_bytes = nr_bytes;
		return false;
	}
	thread->cost.lacking_bytes = 0;
	return true;
}

/*
 * Sends a copy that is as small as its content: the visitor's own snapshot keeps its large buffer,
 * which is in the caches of this CPU.
 */
void publish_sample(struct sampler *sampler, struct sampled_thread *thread,
		    const struct snapshot *snapshot, enum seen_state state)
{
	const struct proc_schedstat clocks = {.cpu_ns = snapshot->cpu_ns,
					      .runq_ns = snapshot->runq_ns,
					      .pcount = snapshot->pcount};
	struct message_sample *sample;
	struct message *message;

	if (is_rare(sampler, &thread->sleep))
		slept_on(&thread->sleep, &clocks, state == SEEN_BLOCKED, snapshot->time_ns);
	message = message_about(thread, snapshot->time_ns);
	sample = &message->body.sample;
	maps_publish_if_new(sampler, thread->process, snapshot->time_ns);
	sample->is_new = true;
	sample->name = new_name(thread);
	sample->state = state;
	sample->clocks = clocks_of(snapshot);
	sample->pcount = snapshot->pcount;
	sample->losses.held_ns = thread->cost.held_ns;
	if (state == SEEN_BLOCKED) {
		sample->wait = thread->sleep.wait;
		thread->sleep.wait.object = NULL; /* the message owns it now */
	} else {
		sample->losses.stolen_ns = stolen_ns(thread, snapshot);
	}
	places_publish(sampler, message);
	if (has_room(sampler, thread, snapshot)) {
		sample->snapshot = collector_take_snapshot(sampler->collector);
		snapshot_copy(sample->snapshot, snapshot);
	} else {
		sampler->counts.nr_dropped_stacks++;
	}
	thread->cost.held_ns = 0;
	note_sleep(thread, snapshot, state == SEEN_BLOCKED);
	collector_publish(sampler->collector, message);
	advances_publish(&sampler->advances, thread, snapshot->time_ns, true);
}

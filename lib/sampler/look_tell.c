// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"
#include "base/minmax.h"
#include "sampler/sampler_priv.h"
#include "snapshot/snapshot.h"
#include "target/target.h"

static struct account_clocks clocks_of(const struct snapshot *snapshot)
{
	return (struct account_clocks){.time_ns = snapshot->time_ns,
				       .cpu_ns = snapshot->cpu_ns,
				       .runq_ns = snapshot->runq_ns};
}

/* What is known of the sleep that ended, or still lasts. */
static struct message *sighting_of(struct sampled_thread *thread, uint64_t now_ns)
{
	struct message *message = message_new(MESSAGE_SAMPLE, now_ns);
	struct message_sample *sighting = &message->body.sample;

	sighting->thread = thread->serial;
	if (thread->nr_slept) {
		sighting->slept_until_ns = thread->slept_until_ns;
		sighting->nr_slept = thread->nr_slept;
		thread->nr_slept = 0;
	}
	thread->told_ns = now_ns;
	return message;
}

/*
 * It was scheduled in so often since it was last seen asleep, in a time that was not the sleep of
 * one: nobody saw when it woke. Of the times off its CPU in between, the first is that of the
 * sleep it was seen in; in the mean they are as long as one another.
 */
static uint64_t woke_ns(const struct sampled_thread *thread, const struct proc_schedstat *clocks,
			uint64_t nr_sleeps, uint64_t now_ns)
{
	uint64_t since_ns = now_ns - thread->slept_until_ns;
	uint64_t awake_ns =
		clocks->cpu_ns - thread->slept_cpu_ns + (clocks->runq_ns - thread->slept_runq_ns);

	return thread->slept_until_ns + (since_ns - min_u64(awake_ns, since_ns)) / nr_sleeps;
}

/* `is_asleep`: and another sleep has begun since. */
static void slept_on(struct sampled_thread *thread, const struct proc_schedstat *clocks,
		     bool is_asleep, uint64_t now_ns)
{
	uint64_t nr_wakes = clocks->pcount - thread->pcount;
	uint64_t until_ns = now_ns;

	if (!thread->was_seen || !thread->asleep || thread->sleep_is_over ||
	    now_ns <= thread->slept_until_ns)
		return;
	thread->sleep_is_over = nr_wakes > 0;
	if (nr_wakes)
		until_ns = woke_ns(thread, clocks, nr_wakes + is_asleep, now_ns);
	if (until_ns <= thread->slept_until_ns)
		return;
	thread->slept_until_ns = until_ns;
	thread->nr_slept++;
}

/* Looks at who rests, so much later than one after the other, have left open when it woke. */
#define RARE_PERIODS 4

static bool is_rare(const struct sampler *sampler, const struct sampled_thread *thread,
		    uint64_t now_ns)
{
	return thread->rested &&
	       now_ns - thread->slept_until_ns > RARE_PERIODS * sampler->governor.base_period_ns;
}

/* All the time off its CPU since it was seen asleep is that of this sleep. */
static bool woke_once_at_most(const struct sampled_thread *thread,
			      const struct proc_schedstat *clocks, bool is_asleep)
{
	return clocks->pcount - thread->pcount <= 1 && !is_asleep;
}

static void sleep_ended(const struct sampler *sampler, struct sampled_thread *thread,
			const struct proc_schedstat *clocks, bool is_asleep, uint64_t now_ns)
{
	if (woke_once_at_most(thread, clocks, is_asleep) || is_rare(sampler, thread, now_ns))
		slept_on(thread, clocks, is_asleep, now_ns);
}

/*
 * Of sleeps that follow one another within some looks, what of one comes after its last look goes
 * to the next, as what of that came after its own has gone to this one: in the mean as much. Not to
 * be spoilt by what is known of some, those that are followed by much work: of two that alternate
 * one had 8 % too much, where the other had 11 too little.
 */
void look_found_awake(const struct sampler *sampler, struct sampled_thread *thread,
		      const struct proc_schedstat *clocks, uint64_t now_ns)
{
	if (!thread->was_seen || !thread->asleep)
		return;
	if (is_rare(sampler, thread, now_ns))
		slept_on(thread, clocks, false, now_ns);
	else if (woke_once_at_most(thread, clocks, false))
		thread->woke_for_work = true;
}

void look_slept_until_end(const struct sampler *sampler, struct sampled_thread *thread,
			  const struct proc_schedstat *clocks, uint64_t now_ns)
{
	sleep_ended(sampler, thread, clocks, false, now_ns);
	if (thread->woke_for_work && !thread->nr_slept)
		thread->nr_slept = 1; /* no other will have what is owed to it */
}

void look_may_sleep_on(const struct sampler *sampler, struct sampled_thread *thread,
		       const struct proc_schedstat *clocks, uint64_t now_ns)
{
	sleep_ended(sampler, thread, clocks, clocks->pcount != thread->pcount, now_ns);
	thread->sleep_is_over = true;
}

void look_last(struct sampler *sampler, struct sampled_thread *thread)
{
	struct proc_schedstat clocks;

	if (thread->tracee->listening || !choose_is_counted(sampler, thread) ||
	    !target_clocks(thread->tracee, &clocks) ||
	    (thread->was_seen && clocks.pcount == thread->pcount))
		return;
	switch (target_look(thread->tracee, &clocks, look_stack_limit(thread),
			    look_spare_snapshot(sampler))) {
	case TARGET_LOOK_TAKEN:
		look_tell_new(sampler, thread, SEEN_BLOCKED);
		break;
	case TARGET_LOOK_RUNNING:
		look_slept_until_end(sampler, thread, &clocks, clock_monotonic_ns());
		break;
	case TARGET_LOOK_CHANGED:
	case TARGET_LOOK_HIDDEN:
	case TARGET_LOOK_GONE:
		break;
	}
}

void look_tell_sleep(struct sampler *sampler, struct sampled_thread *thread)
{
	if (thread->nr_slept)
		sampler_tell(sampler, sighting_of(thread, thread->slept_until_ns));
}

/* A copy of no more than its content: the spare one keeps its large buffer, warm. */
static struct snapshot *copy_snapshot(struct sampler *sampler, const struct snapshot *snapshot)
{
	struct snapshot *copy = collector_take_snapshot(sampler->collector);

	snapshot_copy(copy, snapshot);
	return copy;
}

/* Less is the grain of clocks that are read in turns; a host takes a CPU for longer. */
#define STOLEN_GRAIN_NS (50 * NS_PER_US)

/* Of a time in which a thread was on a CPU, or waited for one, or was held. */
static uint64_t missing_between(const struct account_clocks *from, const struct account_clocks *to,
				uint64_t held_ns)
{
	uint64_t elapsed_ns = to->time_ns - from->time_ns;
	uint64_t known_ns = to->cpu_ns - from->cpu_ns + (to->runq_ns - from->runq_ns) + held_ns;

	return to->time_ns > from->time_ns && elapsed_ns > known_ns + STOLEN_GRAIN_NS
		       ? elapsed_ns - known_ns
		       : 0;
}

/*
 * It has not left its CPU between the look and the stop that this asked for, nor, but for the stop
 * that was its last sighting, since that. Where it has, it was driven off it, or has slept: nobody
 * tells which. Its clock of CPU time may at the look have been that of the kernel's last tick: if
 * anything, more was stolen. What is stolen before a look while nobody looks is not found.
 */
static uint64_t stolen_ns(const struct sampled_thread *thread, const struct snapshot *snapshot)
{
	const struct account_clocks seen = {.time_ns = thread->slept_from_ns,
					    .cpu_ns = thread->slept_cpu_ns,
					    .runq_ns = thread->slept_runq_ns};
	const struct account_clocks asked = {.time_ns = thread->looked_ns,
					     .cpu_ns = thread->looked_cpu_ns,
					     .runq_ns = thread->looked_runq_ns};
	const struct account_clocks now = clocks_of(snapshot);
	bool stayed =
		thread->was_seen && !thread->asleep && thread->looked_pcount == thread->pcount + 1;

	if (thread->stopped_pcount != thread->looked_pcount)
		return 0;
	return missing_between(stayed ? &seen : &asked, &now, thread->held_ns);
}

static struct account_losses losses_of(struct sampler *sampler, const struct sampled_thread *thread,
				       enum seen_state kind)
{
	struct account_losses losses = {.held_ns = thread->held_ns};

	if (kind != SEEN_BLOCKED)
		losses.stolen_ns = stolen_ns(thread, sampler->spare);
	sampler->counts.stolen_ns += losses.stolen_ns;
	return losses;
}

void look_tell_new(struct sampler *sampler, struct sampled_thread *thread, enum seen_state kind)
{
	const struct snapshot *snapshot = sampler->spare;
	const struct proc_schedstat clocks = {.cpu_ns = snapshot->cpu_ns,
					      .runq_ns = snapshot->runq_ns,
					      .pcount = snapshot->pcount};
	struct message_sample *sighting;
	struct message *message;

	if (kind == SEEN_BLOCKED)
		sleep_ended(sampler, thread, &clocks, true, snapshot->time_ns);
	message = sighting_of(thread, snapshot->time_ns);
	sighting = &message->body.sample;
	young_tell_maps(sampler, thread->process, snapshot->time_ns);
	sighting->name = young_name_at_look(thread, snapshot->pcount);
	sighting->is_new = true;
	sighting->state = kind;
	sighting->clocks = clocks_of(snapshot);
	sighting->losses = losses_of(sampler, thread, kind);
	places_tell(sampler, message);
	if (sampler_has_room(sampler, snapshot->nr_bytes))
		sighting->snapshot = copy_snapshot(sampler, snapshot);
	thread->held_ns = 0;
	thread->was_seen = true;
	thread->asleep = kind == SEEN_BLOCKED;
	thread->sleep_is_over = false;
	thread->woke_for_work &= !thread->asleep;
	/*
	 * Who sleeps may fall asleep again before an interrupt from elsewhere arrives, which then
	 * breaks off what it sleeps in. From its own CPU that hardly ever happens.
	 */
	if (thread->asleep && sampler->placement.realtime)
		beside_begin(thread);
	thread->pcount = snapshot->pcount;
	thread->slept_from_ns = thread->slept_until_ns = snapshot->time_ns;
	thread->slept_cpu_ns = snapshot->cpu_ns;
	thread->slept_runq_ns = snapshot->runq_ns;
	sampler_tell(sampler, message);
}

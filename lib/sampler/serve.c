// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"
#include "base/minmax.h"
#include "sampler/sampler_priv.h"
#include "target/target.h"

/* With fewer tracees than this, asking after all of them costs next to nothing. */
#define FEW_TRACEES	  64
#define FEW_SWEEP_COST_NS NS_PER_US /* as much as to read the clock twice */
/* With more it takes the kernel longer and longer: at most this share of the time. */
#define SWEEP_SHARE	 200
#define IDLE_SWEEP_SHARE 4000

/* What one thread has to say next; says whether there was anything. */
static bool serve_next_of(struct sampler *sampler, pid_t tid)
{
	struct target_event event;

	target_next_of(sampler->target, tid, &event);
	if (event.kind == TARGET_EVENT_NONE)
		return false;
	follow_event(sampler, &event);
	return true;
}

/* Everything that one thread has to say; says whether there was anything. */
static bool serve_thread(struct sampler *sampler, pid_t tid)
{
	bool any = false;

	while (serve_next_of(sampler, tid))
		any = true;
	return any;
}

/* So many at most for one signal: each was named by one, or is by one to come. */
#define MOST_EXPECTED 64

/* A signal may have been for one of these, too. */
static bool serve_expected(struct sampler *sampler)
{
	struct target_event event;

	for (int i = 0; i < MOST_EXPECTED; i++) {
		target_next_expected(sampler->target, &event);
		if (event.kind == TARGET_EVENT_NONE)
			return i > 0;
		follow_event(sampler, &event);
	}
	return true;
}

static bool serve_awaited(struct sampler *sampler)
{
	uint64_t begun_ns = clock_monotonic_ns();
	bool any = false;

	for (size_t i = look_nr_awaited(sampler); i-- > 0;) {
		if (i < sampler->nr_awaited)
			any |= serve_thread(sampler, sampler->awaited[i]->tracee->tid);
	}
	sampler->heard_ns = begun_ns;
	return any;
}

static bool has_few(const struct sampler *sampler)
{
	return target_nr_tracees(sampler->target) < FEW_TRACEES;
}

/* Others may use our CPU. */
static uint64_t sweep_clock_ns(const struct sampler *sampler)
{
	return has_few(sampler) ? 0 : clock_thread_cpu_ns();
}

/* Each that is gone through takes no more of it; whatever does is no cost of asking. */
#define MOST_COST_OF_ONE_NS 500

static void note_sweep(struct sampler *sampler, uint64_t before_ns)
{
	uint64_t most_ns = FEW_SWEEP_COST_NS +
			   target_nr_tracees(sampler->target) * (uint64_t)MOST_COST_OF_ONE_NS;

	sampler->swept_ns = clock_monotonic_ns();
	sampler->sweep_cost_ns =
		before_ns ? min_u64(clock_thread_cpu_ns() - before_ns, most_ns) : FEW_SWEEP_COST_NS;
	sampler->nr_swept = sampler->nr_found;
	sampler->nr_found = 0;
}

/*
 * Where threads are born one after the other there is always one to be found, by going through all
 * others, though it would have been served as soon without: that goes on later then.
 */
#define MOST_VAIN_SWEEPS 4

/*
 * To take leave of one that has ended lasts some 20 us, and thousands end at once, for 50 ms and
 * more. Nobody who has stopped meanwhile, for us or by a signal, is to stand so long, nor a tick to
 * come so late: so they are taken in turns. Where a tick's looks themselves take longer than that,
 * the sweep has as much time as they: it had 1 ms in 70, and 10,000 threads ended within 48 s.
 */
#define SWEEP_TURN_NS	NS_PER_MS
#define LONGEST_TURN_NS (20 * NS_PER_MS)

static uint64_t sweep_turn_ns(const struct sampler *sampler)
{
	return min_u64(max_u64(SWEEP_TURN_NS, sampler->looks_ns), LONGEST_TURN_NS);
}

/* Who has stopped comes before who has ended; of signals there may be no end. */
static bool sweep_stops(struct sampler *sampler, uint64_t until_ns)
{
	struct target_event event;
	bool any = false;

	do {
		target_next_stop(sampler->target, &event);
		if (event.kind == TARGET_EVENT_NONE)
			return any;
		any = true;
		follow_event(sampler, &event);
	} while (clock_monotonic_ns() < until_ns);
	return any;
}

static bool sweep(struct sampler *sampler)
{
	uint64_t until_ns = clock_monotonic_ns() + sweep_turn_ns(sampler);
	uint64_t nr_expected = target_stats(sampler->target).nr_expected;
	struct target_event event;
	bool any = sampler->sweep_goes_on && sweep_stops(sampler, until_ns);

	sampler->sweep_goes_on = false;
	for (;;) {
		uint64_t before_ns = sweep_clock_ns(sampler);
		struct target_stats before = target_stats(sampler->target);

		target_next(sampler->target, &event);
		/* Stops that were dealt with inside are no cost of asking: ask once more. */
		if (event.kind == TARGET_EVENT_NONE &&
		    target_stats(sampler->target).nr_stops == before.nr_stops) {
			note_sweep(sampler, before_ns);
			sampler->sweep_owed = false;
			return any;
		}
		any = true;
		sampler->nr_found +=
			target_stats(sampler->target).nr_expected == before.nr_expected;
		follow_event(sampler, &event);
		if (!before_ns)
			continue;
		serve_expected(sampler);
		if (target_stats(sampler->target).nr_expected - nr_expected >= MOST_VAIN_SWEEPS) {
			note_sweep(sampler, before_ns);
			return true;
		}
		if (clock_monotonic_ns() >= until_ns) {
			sampler->sweep_owed = sampler->sweep_goes_on = true;
			return true;
		}
	}
}

/*
 * Threads stop for other reasons than our asking, of late: signals, children. One SIGCHLD may then
 * stand for such a stop and for one of ours, of which it names one.
 */
void serve_note_others(struct sampler *sampler, uint64_t now_ns)
{
	struct target_stats stats = target_stats(sampler->target);
	/* Those that are still to come are none of others. */
	uint64_t nr = stats.nr_stops + look_nr_awaited(sampler) - stats.nr_interrupts;

	if (nr != sampler->nr_other_stops)
		sampler->eventful_until_ns = now_ns + NS_PER_SEC;
	sampler->nr_other_stops = nr;
	sampler->eventful = now_ns < sampler->eventful_until_ns;
}

/* So long nobody is asked who has not sent a signal. */
static uint64_t idle_sweep_pause_ns(const struct sampler *sampler)
{
	uint64_t share = sampler->eventful ? SWEEP_SHARE : IDLE_SWEEP_SHARE;

	return min_u64(sampler->sweep_cost_ns * share, LONGEST_SLEEP_NS);
}

/* Should a SIGCHLD ever get lost. */
void serve_watch(struct sampler *sampler, uint64_t now_ns)
{
	if (now_ns - sampler->swept_ns >= idle_sweep_pause_ns(sampler))
		sampler->sweep_owed = true;
}

/*
 * Somebody stands until then, or has ended and is waited for. The more of them the last sweep has
 * found, the sooner the next one is worth it: thousands that end take longer than a sweep.
 */
static uint64_t next_sweep_ns(const struct sampler *sampler)
{
	uint64_t pause_ns = sampler->sweep_cost_ns * SWEEP_SHARE / (1 + sampler->nr_swept);

	if (sampler->sweep_goes_on)
		return 0;
	return sampler->swept_ns + min_u64(pause_ns, LONGEST_SLEEP_NS);
}

static bool serve_postponed(struct sampler *sampler)
{
	uint64_t due_ns = target_next_reaping_ns(sampler->target);
	struct target_event event;
	bool any = false;

	while (due_ns && clock_monotonic_ns() >= due_ns) {
		target_next_postponed(sampler->target, &event);
		due_ns = target_next_reaping_ns(sampler->target);
		if (event.kind == TARGET_EVENT_NONE)
			continue;
		any = true;
		sampler->sweep_owed = true;
		follow_event(sampler, &event);
	}
	return any;
}

/* All that has happened, as it comes; says whether there was anything. */
bool serve_all(struct sampler *sampler)
{
	bool any = serve_postponed(sampler);

	if (sampler->spinning)
		return serve_awaited(sampler) || any;
	if (has_few(sampler))
		return (sampler->sweep_owed && sweep(sampler)) || any;
	any |= serve_awaited(sampler);
	if (sampler->sweep_owed && clock_monotonic_ns() >= next_sweep_ns(sampler))
		any |= sweep(sampler);
	return any;
}

/* In less there was one pending. */
#define SHORTEST_SLEEP_NS (2 * NS_PER_US)

/*
 * Wait for a SIGCHLD, if none is pending, and serve the thread that it names. Says which; 0 if
 * none came.
 */
static pid_t take_child_signal(struct sampler *sampler, uint64_t until_ns)
{
	uint64_t before_ns = clock_monotonic_ns();
	pid_t tid = alarm_wait(&sampler->alarm, until_ns);
	uint64_t now_ns = clock_monotonic_ns();

	sampler->tick_slept_ns += now_ns - before_ns;
	if (until_ns && now_ns - before_ns >= SHORTEST_SLEEP_NS)
		sampler->heard_ns = now_ns;
	if (tid > 0 && (!has_few(sampler) || target_next_reaping_ns(sampler->target)))
		serve_thread(sampler, tid);
	if (tid && !has_few(sampler))
		serve_expected(sampler);
	return tid;
}

void serve_between(struct sampler *sampler)
{
	take_child_signal(sampler, 0);
	sampler->sweep_owed = true;
	serve_all(sampler);
}

static bool was_asked_since(const struct sampler *sampler, pid_t tid, uint64_t since_ns)
{
	for (size_t i = 0; i < sampler->nr_active; i++) {
		const struct tracee *tracee = sampler->threads[i]->tracee;

		if (tracee->tid == tid)
			return tracee->interrupted_ns >= since_ns;
	}
	return false;
}

/*
 * A SIGCHLD stands for all that changed before it was taken. Those of the stops that were asked
 * for are taken within microseconds: if nobody else is named, nobody else is asked, which with a
 * thousand threads takes longer than the stops. But where others stop, too, one may have gone
 * under.
 */
static void note_child_signal(struct sampler *sampler, pid_t tid, uint64_t asked_since_ns)
{
	if (tid && (has_few(sampler) || sampler->eventful ||
		    !was_asked_since(sampler, tid, asked_since_ns)))
		sampler->sweep_owed = true;
}

static void take_spun_signal(struct sampler *sampler, uint64_t tick_ns)
{
	note_child_signal(sampler, take_child_signal(sampler, 0), tick_ns);
}

void serve_amid_looks(struct sampler *sampler)
{
	pid_t tid = has_few(sampler) ? 0 : take_child_signal(sampler, 0);

	if (!tid)
		return;
	note_child_signal(sampler, tid, sampler->tick_ns);
	serve_awaited(sampler);
}

/*
 * From an interrupt to a running thread on another CPU to its stop it takes at least so long, and
 * hardly ever longer than so long. Who is let go at once finds its CPU still awake: that takes 1
 * us, while one that has gone idle since has to be woken, which takes 8 us of us and more of it.
 */
#define SOONEST_STOP_NS (3 * NS_PER_US)
#define LATEST_STOP_NS	(9 * NS_PER_US)

void serve_begin_tick(struct sampler *sampler)
{
	sampler->next_early = look_nr_awaited(sampler);
	sampler->nr_early = 0;
}

/* Of more threads than there are CPUs, most only wait for one: to ask after them is in vain. */
static struct tracee *next_early(const struct sampler *sampler)
{
	if (sampler->next_early >= sampler->nr_awaited || sampler->nr_early >= sampler->nr_cpus)
		return NULL;
	return sampler->awaited[sampler->next_early]->tracee;
}

static bool stops_meanwhile(const struct tracee *tracee)
{
	return tracee->interrupting && tracee->cpu != sched_getcpu();
}

/* Is that one done with? */
static bool ask_early(struct sampler *sampler, struct tracee *tracee)
{
	uint64_t asked_ns = tracee->interrupted_ns;
	uint64_t now_ns = clock_monotonic_ns();

	if (!stops_meanwhile(tracee))
		return true;
	if (now_ns - asked_ns < SOONEST_STOP_NS)
		return false;
	/* Of more than its stop the signal tells that is taken next; of several it names one. */
	if (!(sampler->nr_awaited > 1 ? serve_thread(sampler, tracee->tid)
				      : serve_next_of(sampler, tracee->tid)))
		return now_ns - asked_ns >= LATEST_STOP_NS;
	sampler->nr_early++;
	return true;
}

/* Those that have stopped by now. */
void serve_early(struct sampler *sampler)
{
	struct tracee *tracee = next_early(sampler);

	while (tracee && ask_early(sampler, tracee)) {
		sampler->next_early++;
		tracee = next_early(sampler);
	}
}

/* Of a CPU that we leave before the tick after the next, that one's would wake us from afar. */
static void set_alarms(struct sampler *sampler)
{
	if (!placement_stays(&sampler->placement))
		return;
	alarm_set(&sampler->alarm, sampler->schedule.next_ns);
	alarm_set_behind(&sampler->alarm, sampler->schedule.after_next_ns);
}

void serve_rest_early(struct sampler *sampler, uint64_t tick_ns)
{
	/* Less than two switches to sleep and back take. */
	for (; next_early(sampler); serve_early(sampler))
		;
	set_alarms(sampler);
	/* The first sleep shall not end for what is known. */
	if (sampler->nr_early)
		take_spun_signal(sampler, tick_ns);
	/* It may have stood for another stop as well. */
	if (sampler->sweep_owed && sampler->eventful && has_few(sampler))
		sweep(sampler);
}

/* How long a stop is spun for, while a CPU is idle anyway. */
#define SPIN_NS (200 * NS_PER_US)

/*
 * With an idle CPU, spinning takes the stops tens of microseconds earlier than being woken
 * for them; with none it would take the CPU that a thread needs in order to stop.
 */
void serve_spinning(struct sampler *sampler, uint64_t now_ns)
{
	uint64_t until_ns = now_ns + SPIN_NS;

	if (!sampler->idle.some_idle || !look_nr_awaited(sampler) ||
	    !spin_pays(&sampler->spin, now_ns))
		return;
	sampler->spinning = true;
	while (look_nr_awaited(sampler) && clock_monotonic_ns() < until_ns) {
		take_spun_signal(sampler, now_ns);
		serve_all(sampler);
	}
	take_spun_signal(sampler, now_ns);
	sampler->spinning = false;
	if (has_few(sampler))
		sweep(sampler);
	if (look_nr_awaited(sampler))
		spin_failed(&sampler->spin, until_ns);
	else
		spin_succeeded(&sampler->spin);
}

/* Asked longer ago than that, a thread has most likely stopped for another reason. */
#define ASKED_OF_LATE_NS (100 * NS_PER_MS)

/* Where a stop is about to come, the sweep goes with it: a timer of its own takes as long. */
#define WITH_NEXT_STOP_NS (2 * NS_PER_MS)

static uint64_t owed_sweep_ns(struct sampler *sampler, uint64_t now_ns)
{
	if (sampler->sweep_goes_on)
		return 0;
	return look_nr_awaited(sampler) ? now_ns + WITH_NEXT_STOP_NS : next_sweep_ns(sampler);
}

void serve_asleep(struct sampler *sampler, uint64_t until_ns)
{
	uint64_t reaping_ns = target_next_reaping_ns(sampler->target);
	uint64_t now_ns = clock_monotonic_ns();

	if (reaping_ns && reaping_ns < until_ns)
		until_ns = reaping_ns;
	if (sampler->sweep_owed && owed_sweep_ns(sampler, now_ns) < until_ns)
		until_ns = owed_sweep_ns(sampler, now_ns);
	if (sampler->sleepers_again_ns < until_ns)
		until_ns = sampler->sleepers_again_ns;
	if (until_ns > now_ns + LONGEST_SLEEP_NS)
		until_ns = now_ns + LONGEST_SLEEP_NS;
	note_child_signal(sampler, take_child_signal(sampler, until_ns), now_ns - ASKED_OF_LATE_NS);
}

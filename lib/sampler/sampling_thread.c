// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "sampler/sampler_priv.h"
#include "target/target.h"

#define GOVERNOR_WINDOW_NS (250 * NS_PER_MS)
/*
 * At the end: how long stops that were asked for are awaited before everybody is let go. Those of
 * low priority on a busy machine wait for a CPU as long; their calls would fail with EINTR.
 */
#define LAST_STOPS_NS (2 * NS_PER_SEC)

/*
 * Is there a bound on how long a real-time thread may run on? The kernel kills a process that
 * exceeds it: one of 8 ms was, when 3000 threads were attached to.
 */
static bool has_realtime_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_RTTIME, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/*
 * Of those of normal priority who wakes and wants little is served before who has long slices left
 * (EEVDF, sched_setattr(2) since Linux 6.12; before, it has no effect). 100 us is the least.
 */
#define SLICE_NS (100 * NS_PER_US)

static void ask_for_short_slices(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime_ns, deadline_ns, period_ns;
	} attributes = {
		.size = sizeof(attributes),
		.policy = SCHED_OTHER,
		.flags = SCHED_FLAG_RESET_ON_FORK,
		.nice = getpriority(PRIO_PROCESS, 0),
		.runtime_ns = SLICE_NS,
	};

	if (sched_getscheduler(0) == SCHED_OTHER)
		syscall(SYS_sched_setattr, 0, &attributes, 0);
}

/* A normal priority sees bursts of the target on its own CPU only when they are over. */
static bool become_realtime(void)
{
	struct sched_param param = {.sched_priority = 1};

	/* Timers of a normal thread fire up to 50 us late. */
	prctl(PR_SET_TIMERSLACK, 1);
	if (has_realtime_limit())
		return false; /* nor can it be lifted: the command would inherit that */
	return pthread_setschedparam(pthread_self(), SCHED_FIFO | SCHED_RESET_ON_FORK, &param) == 0;
}

/* When the time is up. */
static uint64_t end_ns(const struct sampler *sampler)
{
	const struct sampler_options *options = &sampler->options;

	if (!options->duration_ns)
		return UINT64_MAX;
	return sampler->begun_ns + options->delay_ns + options->duration_ns;
}

static bool over(struct sampler *sampler, uint64_t now_ns)
{
	struct sampler_result *result = &sampler->result;

	if (!target_is_anybody_left(sampler->target))
		result->end = SAMPLER_END_TARGET;
	else if (collector_state(sampler->collector) == COLLECTOR_WRITE_FAILED)
		result->end = SAMPLER_END_WRITE_FAILED;
	else if (atomic_load_explicit(&sampler->stop_asked, memory_order_relaxed))
		result->end = SAMPLER_END_ASKED;
	else if (now_ns >= end_ns(sampler))
		result->end = SAMPLER_END_DURATION;
	else
		return false;
	return true;
}

#define WATCH_NS (100 * NS_PER_MS)

static void watch_now_and_then(struct sampler *sampler, uint64_t now_ns)
{
	if (now_ns < sampler->watch_again_ns)
		return;
	atomic_store_explicit(&sampler->nr_resting, sampler->counts.nr_resting_looks,
			      memory_order_relaxed);
	idle_meter_update(&sampler->idle);
	serve_watch(sampler, now_ns);
	sampler->watch_again_ns = now_ns + WATCH_NS;
}

/*
 * Many short threads or processes, one after the other, count as one that goes on; as several,
 * if they used more CPU time than one could have.
 */
static struct governor_cost cost_of_ended(struct sampler *sampler, uint64_t window_ns)
{
	struct governor_cost cost = sampler->ended_cost;

	if (sampler->ended_cpu_ns > window_ns)
		cost.cost_ns = (uint64_t)((double)cost.cost_ns * (double)window_ns /
					  (double)sampler->ended_cpu_ns);
	sampler->ended_cost = (struct governor_cost){0};
	sampler->ended_cpu_ns = 0;
	return cost;
}

static struct governor_cost worst_cost(struct sampler *sampler, uint64_t window_ns)
{
	struct governor_cost ended = cost_of_ended(sampler, window_ns);
	struct governor_cost worst = sampler->worst_cost;

	sampler->worst_cost = (struct governor_cost){0};
	return ended.cost_ns > worst.cost_ns ? ended : worst;
}

/* Where no CPU is idle, what ticks use themselves is time that threads of the target lose, too. */
static uint64_t shortest_period_ns(struct sampler *sampler)
{
	if (sampler->nr_measured_ticks)
		sampler->mean_tick_cpu_ns = sampler->ticks_cpu_ns / sampler->nr_measured_ticks;
	sampler->ticks_cpu_ns = sampler->nr_measured_ticks = 0;
	if (sampler->idle.some_idle)
		return 0;
	return governor_shortest_period(&sampler->governor, sampler->mean_tick_cpu_ns,
					sampler->nr_cpus);
}

static void govern(struct sampler *sampler, uint64_t now_ns)
{
	uint64_t window_ns = now_ns - sampler->window_start_ns;
	struct governor_cost worst;

	if (window_ns < GOVERNOR_WINDOW_NS)
		return;
	worst = worst_cost(sampler, window_ns);
	schedule_set_period(&sampler->schedule,
			    max_u64(governor_update(&sampler->governor, &worst, window_ns),
				    shortest_period_ns(sampler)));
	sampler->window_start_ns = now_ns;
}

/*
 * Some wait long for a CPU until they stop, or in a vfork(2): they are no reason to stay where we
 * are for more than a tick.
 */
static bool awaits_anyone_of_this_tick(struct sampler *sampler)
{
	for (size_t i = look_nr_awaited(sampler); i-- > 0;) {
		if (sampler->awaited[i]->tracee->interrupted_ns >= sampler->tick_ns)
			return true;
	}
	return false;
}

/* Who makes many calls is driven off its CPU at the next tick, if we look from afar. */
static void arm_displacer(struct sampler *sampler)
{
	const struct placement *placement = &sampler->placement;

	if (placement->kind == PLACEMENT_AWAY && placement->caller >= 0 &&
	    placement->caller != placement->cpu)
		displacer_arm(&sampler->displacer, placement->caller, sampler->schedule.next_ns);
	else
		displacer_dismiss(&sampler->displacer);
}

/* Where to sleep until the next tick; nobody is held meanwhile. */
static void move(struct sampler *sampler)
{
	enum placement_kind kind;
	int cpu;

	if (!sampler->move_owed || awaits_anyone_of_this_tick(sampler) || chase_next(sampler))
		return;
	sampler->move_owed = false;
	kind = placement_choose(&sampler->placement, sampler->idle.some_idle, &cpu);
	placement_move(&sampler->placement, kind, cpu);
	arm_displacer(sampler);
}

/* Is anybody awaited who runs where we do, and cannot stop while we spin? */
static bool awaits_own_cpu(const struct sampler *sampler)
{
	int cpu = sched_getcpu();

	for (size_t i = 0; i < sampler->nr_awaited; i++) {
		if (sampler->awaited[i]->tracee->cpu == cpu)
			return true;
	}
	return false;
}

/*
 * What ticks use is looked at in some of them: the clock that tells is a system call each time. A
 * prime, so that it is in turn those that do what is done in each so-manieth.
 */
#define TICKS_PER_MEASURED 7

static void begin_measuring(struct sampler *sampler)
{
	bool is_measured = sampler->counts.nr_ticks % TICKS_PER_MEASURED == 0;

	sampler->tick_slept_ns = 0;
	sampler->tick_cpu_ns =
		is_measured || !sampler->placement.realtime ? clock_thread_cpu_ns() : 0;
}

static void end_measuring(struct sampler *sampler)
{
	if (!sampler->tick_cpu_ns)
		return;
	sampler->nr_measured_ticks++;
	sampler->ticks_cpu_ns += clock_thread_cpu_ns() - sampler->tick_cpu_ns - sampler->haste_ns;
}

static void tick(struct sampler *sampler, uint64_t now_ns)
{
	uint64_t late_ns = now_ns - sampler->schedule.next_ns;

	sampler->counts.nr_ticks++;
	histogram_add(&sampler->counts.lateness_ns, late_ns);
	if (late_ns > sampler->schedule.period_ns / 4)
		sampler->counts.nr_late_ticks++;
	placement_begin_tick(&sampler->placement);
	chase_begin_tick(sampler);
	serve_begin_tick(sampler);
	serve_note_others(sampler, now_ns);
	sampler->move_owed = true;
	sampler->tick_ns = now_ns;
	sampler->tick_late_ns = late_ns;
	begin_measuring(sampler);
	look_at_all(sampler, now_ns);
	sampler->looks_ns = clock_monotonic_ns() - now_ns;
	if (sampler->idle.some_idle && !awaits_own_cpu(sampler))
		serve_spinning(sampler, now_ns);
	govern(sampler, now_ns);
	watch_now_and_then(sampler, now_ns);
	hunt_now_and_then(sampler, now_ns);
	counters_tell(sampler, now_ns);
	schedule_advance(&sampler->schedule, now_ns);
	serve_rest_early(sampler, now_ns);
	end_measuring(sampler);
}

static void begin_counting(struct sampler *sampler, uint64_t now_ns)
{
	follow_resume_counting(sampler, now_ns);
	sampler->window_start_ns = now_ns;
	schedule_init(&sampler->schedule, now_ns, sampler->governor.period_ns,
		      now_ns ^ ((uint64_t)getpid() << 32));
}

static void pause_counting(struct sampler *sampler)
{
	follow_look_last(sampler);
	follow_pause_counting(sampler, clock_monotonic_ns());
}

static bool shall_count(const struct sampler *sampler, uint64_t now_ns)
{
	return !sampler_is_paused(sampler) &&
	       now_ns >= sampler->begun_ns + sampler->options.delay_ns;
}

/* Where threads stop for other reasons than our asking, they also wake for them. */
static void watch_sleepers(struct sampler *sampler, uint64_t now_ns)
{
	sampler->sleepers_again_ns = target_end_overdue(sampler->target, now_ns);
	if (sampler->eventful)
		sampler->sleepers_again_ns =
			min_u64(sampler->sleepers_again_ns,
				target_glance_at_sleepers(sampler->target, now_ns));
}

static void sleep_until_next(struct sampler *sampler, uint64_t now_ns, bool stands_by)
{
	uint64_t until_ns = end_ns(sampler);

	if (sampler->counting && !stands_by)
		until_ns = min_u64(until_ns, sampler->schedule.next_ns);
	else if (!sampler_is_paused(sampler) && !stands_by)
		until_ns = min_u64(until_ns, sampler->begun_ns + sampler->options.delay_ns);
	serve_asleep(sampler, min_u64(until_ns, now_ns + LONGEST_SLEEP_NS));
}

static void run(struct sampler *sampler)
{
	for (;;) {
		uint64_t now_ns;
		bool counts, stands_by;

		serve_all(sampler);
		now_ns = clock_monotonic_ns();
		if (over(sampler, now_ns))
			return;
		counts = shall_count(sampler, now_ns);
		stands_by = control_stands_by(sampler, now_ns);
		if (counts && !sampler->counting)
			begin_counting(sampler, now_ns);
		else if (!counts && sampler->counting)
			pause_counting(sampler);
		else if (counts && !stands_by && now_ns >= sampler->schedule.next_ns)
			tick(sampler, now_ns);
		young_tell_owed_maps(sampler);
		move(sampler);
		watch_sleepers(sampler, clock_monotonic_ns());
		sleep_until_next(sampler, now_ns, stands_by);
	}
}

/* Stops that were asked for come first: a thread let go with one pending could feel it. */
static void await_last_stops(struct sampler *sampler)
{
	uint64_t until_ns = clock_monotonic_ns() + LAST_STOPS_NS;

	sampler->sleepers_again_ns = UINT64_MAX;
	while (target_any_is_to_stop(sampler->target) && clock_monotonic_ns() < until_ns) {
		if (!serve_all(sampler))
			serve_asleep(sampler, clock_monotonic_ns() + NS_PER_MS);
	}
}

/* Says whether there was any. */
static bool serve_last(struct sampler *sampler)
{
	uint64_t nr_stops = target_stats(sampler->target).nr_stops;
	uint64_t reaping_ns = target_next_reaping_ns(sampler->target);
	bool is_due = reaping_ns && clock_monotonic_ns() >= reaping_ns;
	struct target_event event;

	if (is_due)
		target_next_postponed(sampler->target, &event);
	else
		target_next(sampler->target, &event);
	if (event.kind != TARGET_EVENT_NONE)
		follow_last_event(sampler, &event);
	return event.kind != TARGET_EVENT_NONE || is_due ||
	       target_stats(sampler->target).nr_stops != nr_stops;
}

/* The recording has ended: until then only what is to happen before all are let go. */
static void serve_last_asleep(struct sampler *sampler, uint64_t until_ns)
{
	uint64_t reaping_ns = target_next_reaping_ns(sampler->target);

	if (!serve_last(sampler))
		alarm_wait(&sampler->alarm, reaping_ns ? min_u64(reaping_ns, until_ns) : until_ns);
}

/*
 * Whoever is in a call that was taken up again would wait anew. Most such waits are for less than
 * that; for longer ones nobody shall wait for the prompt.
 */
#define LAST_TIMEOUTS_NS (200 * NS_PER_MS)

static void await_last_timeouts(struct sampler *sampler)
{
	uint64_t begun_ns = clock_monotonic_ns(), now_ns = begun_ns;
	uint64_t until_ns = begun_ns + LAST_TIMEOUTS_NS;

	while (now_ns < until_ns && target_awaits_timeouts(sampler->target, begun_ns, until_ns)) {
		uint64_t next_ns = target_end_overdue(sampler->target, now_ns);

		serve_last_asleep(sampler, min_u64(until_ns, next_ns));
		now_ns = clock_monotonic_ns();
	}
}

static void await_last_carried(struct sampler *sampler)
{
	uint64_t until_ns = clock_monotonic_ns() + LAST_STOPS_NS;

	while ((target_end_carrying(sampler->target) || target_any_is_to_stop(sampler->target)) &&
	       clock_monotonic_ns() < until_ns)
		serve_last_asleep(sampler, clock_monotonic_ns() + NS_PER_MS);
}

/* The C library would do it at the end of the thread, and take some 20 us for that. */
#define LAST_STACK_BYTES 32768

static void give_back_stack(void)
{
	uintptr_t end = (uintptr_t)__builtin_frame_address(0) - LAST_STACK_BYTES;
	pthread_attr_t attributes;
	size_t nr_bytes;
	void *start;

	if (pthread_getattr_np(pthread_self(), &attributes))
		return;
	end -= end % (uintptr_t)getpagesize();
	if (pthread_attr_getstack(&attributes, &start, &nr_bytes) == 0 && end > (uintptr_t)start)
		madvise(start, end - (uintptr_t)start, MADV_DONTNEED);
	pthread_attr_destroy(&attributes);
}

/*
 * There may be no end of signals. Where CPUs are scarce so long a time may be a single pause; a
 * look at thousands of threads takes as long, too.
 */
#define LAST_SIGNALS_NS (20 * NS_PER_MS)
#define LAST_LOOKS	4
#define LAST_PAUSE_NS	(50 * NS_PER_US)
/* Nor of those who are to stop: of threads that are born. */
#define LAST_ASKED_NS (100 * NS_PER_MS)

/* Would any be felt if all were let go now? */
static bool awaits_signals(const struct sampler *sampler)
{
	return target_awaits_leaving(sampler->target) || target_any_will_stop(sampler->target) ||
	       target_any_may_die_of_parted(sampler->target);
}

/*
 * A signal that comes between the last look at who has stopped and the moment when the kernel lets
 * everybody go may be felt. So nothing is left to be done in between: that takes 20 us now, and
 * took 400.
 */
static void let_everybody_go(struct sampler *sampler)
{
	const struct timespec pause = {.tv_nsec = (long)LAST_PAUSE_NS};
	uint64_t begun_ns = clock_monotonic_ns();

	target_begin_ending(sampler->target);
	give_back_stack();
	for (int nr_looks = 0;; nr_looks++) {
		uint64_t lasted_ns = clock_monotonic_ns() - begun_ns;
		bool may_wait = lasted_ns < LAST_STOPS_NS;
		bool is_over = lasted_ns >= LAST_SIGNALS_NS && nr_looks >= LAST_LOOKS;
		bool is_stop_due = may_wait && target_any_is_to_stop(sampler->target);
		bool awaits = may_wait && !is_over && awaits_signals(sampler);
		bool any = serve_last(sampler);

		/* Others may have been asked to stop for their sake. */
		if (any && (!is_over ||
			    (lasted_ns < LAST_ASKED_NS && target_any_is_to_stop(sampler->target))))
			continue;
		if (!is_stop_due && !awaits)
			return;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
}

static void take_priority(struct sampler *sampler)
{
	sampler->counts.realtime = become_realtime();
	if (!sampler->counts.realtime)
		ask_for_short_slices();
	placement_init(&sampler->placement, sampler->counts.realtime, sampler->start_ns);
	if (sampler->counts.realtime)
		displacer_open(&sampler->displacer);
	sampler->placement.can_displace = sampler->displacer.is_open;
	sampler->nr_cpus = (unsigned int)CPU_COUNT(&sampler->placement.allowed);
	sampler->nr_cpus += !sampler->nr_cpus; /* they could not be asked for */
}

/*
 * Who executes a command does so first: it would inherit the priority's slack of timers, its own
 * and that which it is set back to by prctl(2), and all its children from it.
 */
static int follow_and_take_priority(struct sampler *sampler)
{
	bool executes = sampler->options.argv;
	int status;

	if (!executes)
		take_priority(sampler);
	status = follow_start(sampler, &sampler->start_err);
	if (executes)
		take_priority(sampler);
	return status;
}

static int start(struct sampler *sampler)
{
	int status;

	alarm_open(&sampler->alarm);
	round_begin(sampler);
	sampler->counting = sampler->options.delay_ns == 0 && !sampler->options.paused;
	sampler->counting_since_ns = sampler->start_ns;
	schedule_init(&sampler->schedule, sampler->start_ns, sampler->governor.period_ns,
		      sampler->start_ns ^ ((uint64_t)getpid() << 32));
	sampler->window_start_ns = sampler->start_ns;
	sampler->sweep_owed = true; /* what happened before we began to listen */
	status = follow_and_take_priority(sampler);
	sampler->begun_ns = clock_monotonic_ns();
	if (status < 0) {
		sampler->start_status = status;
		sem_post(&sampler->started);
	}
	return status;
}

void *sampling_thread_main(void *argument)
{
	struct sampler *sampler = argument;
	uint64_t one = 1;

	if (start(sampler) == 0) {
		run(sampler);
		if (sampler->counting)
			follow_look_last(sampler);
		await_last_stops(sampler);
		sampler->ended_ns = clock_monotonic_ns();
		follow_end(sampler, sampler->ended_ns);
		/* A command that could not be executed has not been reported as started. */
		if (sampler->options.argv && !sampler->command_ran)
			sem_post(&sampler->started);
	}
	sampler->counts.cpu_ns = clock_thread_cpu_ns() + displacer_close(&sampler->displacer);
	if (write(sampler->done_fd, &one, sizeof(one)) != sizeof(one))
		sampler->start_status = ERR_SYS; /* an eventfd of ours cannot fail to take a 1 */
	await_last_timeouts(sampler);
	await_last_carried(sampler);
	alarm_close(&sampler->alarm);
	let_everybody_go(sampler);
	return NULL; /* and so the kernel detaches everybody, without a stop */
}

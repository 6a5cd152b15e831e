// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The visitors. The leader sleeps until the next tick and samples the threads that are due. If a
 * thread is long inside the kernel, its visitor waits until it leaves it. Meanwhile another visitor
 * leads; the waiting one finishes its visit and is idle afterwards. There are two visitors, and
 * more on demand, so that no thread can block the sampling of others.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "base/semaphore.h"
#include "overhead/urgency.h"
#include "probe/prober.h"
#include "proc/read.h"
#include "sampler/sampler_priv.h"
#include "sampler/searching_priv.h"
#include "sampler/visitor_pool_priv.h"
#include "sampler/visitor_priv.h"
#include "snapshot/snapshot.h"
#include "tracee/launch.h"

/* A tick that is later than this lets another visitor lead, as does a late visit. */
#define LATE_TICK_NS (10 * NS_PER_MS)
/* How often an idle visitor checks for both; where ticks are rare, after so many periods. */
#define IDLE_PAUSE_NS	   (20 * NS_PER_MS)
#define IDLE_PERIODS	   8
#define LONG_IDLE_PAUSE_NS NS_PER_SEC
/*
 * Without real-time priority a visitor that has just run may have to wait for a CPU until the next
 * tick of the kernel, while one that has slept mostly gets a CPU at once. So one checks this part
 * of a period after each tick, which is the shortest gap between two.
 */
#define WATCH_PART 8
/* After this time it checks again if a tick was in progress. */
#define WATCH_AGAIN_NS NS_PER_MS
/* By then all threads were read again, and their priorities are known. */
#define UNBOUND_NS NS_PER_SEC
/* The loop never sleeps longer: it checks bounds and the roster. */
#define LONGEST_SLEEP_NS (100 * NS_PER_MS)
#define RARE_ERRANDS_NS	 (300 * NS_PER_MS)
#define ERRANDS_PERIODS	 5
/* While nothing is counted: processes that wait at their end are searched. */
#define SEARCH_SLEEP_NS (10 * NS_PER_MS)

void visitors_calibrate(struct sampler *sampler)
{
	calibration_run(&sampler->overhead, urgency_realtime);
	/* Less the time that it is held, which the first stops will show. */
	governor_expect(&sampler->governor,
			max_u64(sampler->overhead.away_ns, sampler->overhead.beside_ns));
}

static uint64_t end_ns(const struct sampler *sampler)
{
	const struct sampler_options *options = &sampler->options;

	if (!options->duration_ns)
		return UINT64_MAX;
	return sampler->session->begun_ns + options->delay_ns + options->duration_ns;
}

static bool is_over(struct sampler *sampler, uint64_t now_ns)
{
	struct sampler_result *result = &sampler->result;
	enum collector_state state = collector_state(sampler->collector);
	bool waits = sampler->options.targets.joiners;

	/* The last process may have left children since the last tick. */
	if (!waits && !roster_nr_processes(sampler->roster))
		roster_poll_all(sampler->roster, now_ns);
	if (!waits && !roster_nr_processes(sampler->roster))
		result->end = SAMPLER_END_TARGET;
	else if (state == COLLECTOR_WRITE_FAILED)
		result->end = SAMPLER_END_WRITE_FAILED;
	else if (state == COLLECTOR_SAMPLES_REACHED)
		result->end = SAMPLER_END_SAMPLES;
	else if (state == COLLECTOR_SIZE_REACHED)
		result->end = SAMPLER_END_SIZE;
	else if (atomic_load_explicit(&sampler->session->stop_asked, memory_order_relaxed))
		result->end = SAMPLER_END_ASKED;
	else if (now_ns >= end_ns(sampler))
		result->end = SAMPLER_END_DURATION;
	else
		return false;
	return true;
}

static bool is_paused(const struct sampler *sampler)
{
	return atomic_load_explicit(&sampler->session->paused, memory_order_relaxed);
}

static bool shall_count(const struct sampler *sampler, uint64_t now_ns)
{
	return !is_paused(sampler) &&
	       now_ns >= sampler->session->begun_ns + sampler->options.delay_ns;
}

static void begin_counting(struct sampler *sampler, uint64_t now_ns)
{
	struct session *session = sampler->session;

	session->counting = true;
	session->was_cut = true;
	sampler->counts.counting_since_ns = now_ns;
	spending_skip(&sampler->spending, now_ns);
	probing_set_counting(sampler);
	book_begin_counting(sampler, now_ns);
	schedule_skip(&sampler->schedule, now_ns);
}

static void pause_counting(struct visitor *visitor)
{
	struct sampler *sampler = visitor->sampler;
	struct session *session = sampler->session;
	uint64_t now_ns;

	tick_last(visitor);
	now_ns = clock_monotonic_ns();
	book_end_counting(sampler, now_ns);
	session->counting = false;
	probing_set_counting(sampler);
	session->was_cut = true;
	sampler->counts.counted_ns += now_ns - sampler->counts.counting_since_ns;
}

/*
 * Sleep without the lock until then, or until a request comes. A semaphore keeps a thread on this
 * CPU waiting for less time than poll(2) of a descriptor.
 */
static void sleep_until(struct visitor *visitor, uint64_t until_ns)
{
	struct sampler *sampler = visitor->sampler;
	sem_t *requests = &sampler->session->requests;
	bool is_woken;

	if (until_ns <= clock_monotonic_ns())
		return;
	pthread_mutex_unlock(&sampler->lock);
	is_woken = semaphore_wait_until(requests, until_ns);
	pthread_mutex_lock(&sampler->lock);
	if (is_woken && sampler->leader != visitor)
		sem_post(requests); /* it was meant for the leader of now */
	while (is_woken && sampler->leader == visitor && sem_trywait(requests) == 0)
		; /* one look answers all requests */
}

/*
 * All CPUs' times, which the idle meter needs, take 60 us to read: where ticks are rare, rarely,
 * and no more often than after some of them.
 */
static uint64_t errands_pause_ns(const struct sampler *sampler)
{
	bool has_command = sampler->options.targets.command != 0; /* its end is noticed here */

	if (!pool_has_rare_ticks(sampler) || has_command)
		return LONGEST_SLEEP_NS;
	return max_u64(RARE_ERRANDS_NS, ERRANDS_PERIODS * sampler->schedule.period_ns);
}

/* Processes wait at their end for a prober that searches them. */
static uint64_t longest_sleep_ns(const struct sampler *sampler)
{
	return sampler->session->counting && !sampler->options.prober ? errands_pause_ns(sampler)
								      : LONGEST_SLEEP_NS;
}

static uint64_t next_ns(const struct sampler *sampler, uint64_t now_ns)
{
	const struct session *session = sampler->session;
	uint64_t next_ns = min_u64(end_ns(sampler), now_ns + longest_sleep_ns(sampler));

	if (session->counting)
		return min_u64(next_ns, sampler->schedule.next_ns);
	if (sampler->options.prober && prober_reach(sampler->options.prober))
		next_ns = min_u64(next_ns, now_ns + SEARCH_SLEEP_NS);
	if (is_paused(sampler))
		return next_ns;
	return min_u64(next_ns, session->begun_ns + sampler->options.delay_ns);
}

static void idle_now_and_then(struct sampler *sampler, uint64_t now_ns)
{
	struct session *session = sampler->session;

	if (now_ns < session->idle_again_ns)
		return;
	atomic_store_explicit(&session->progress.nr_resting, sampler->counts.nr_resting,
			      memory_order_relaxed);
	idle_meter_update(&sampler->idle);
	if (sampler->options.targets.command) {
		launch_reap_orphans(sampler->options.targets.command);
		roster_end_if_dead(sampler->roster, sampler->options.targets.command);
	}
	pool_poke(sampler, now_ns, false);
	session->idle_again_ns = now_ns + errands_pause_ns(sampler);
}

static void finish(struct visitor *visitor)
{
	struct sampler *sampler = visitor->sampler;
	struct session *session = sampler->session;
	const uint64_t one = 1;

	search_all(sampler);
	if (session->counting)
		tick_last(visitor);
	if (sampler->leader != visitor)
		return; /* another visitor leads now, and will come here */
	session->ended_ns = clock_monotonic_ns();
	if (session->counting)
		sampler->counts.counted_ns += session->ended_ns - sampler->counts.counting_since_ns;
	book_end(sampler, session->ended_ns);
	atomic_store(&session->is_over, true);
	pool_poke(sampler, session->ended_ns, true);
	for (size_t i = 0; i < sampler->nr_visitors; i++)
		sem_post(&session->calls);
	if (write(session->events.done_fd, &one, sizeof(one)) < 0)
		return; /* an eventfd of ours takes a 1 */
}

static void lead(struct visitor *visitor)
{
	struct sampler *sampler = visitor->sampler;
	struct session *session = sampler->session;

	sampler->placement.cpu = -1; /* it was the former leader's */
	while (sampler->leader == visitor && !session->is_over) {
		uint64_t now_ns = clock_monotonic_ns();
		bool counts = shall_count(sampler, now_ns);

		idle_now_and_then(sampler, now_ns);
		search_leaving(sampler);
		if (is_over(sampler, now_ns)) {
			finish(visitor);
			continue;
		}
		if (counts && !session->counting)
			begin_counting(sampler, now_ns);
		else if (!counts && session->counting)
			pause_counting(visitor);
		else if (counts && now_ns >= sampler->schedule.next_ns)
			tick_run(visitor, now_ns);
		else if (!counts)
			book_keep(sampler, now_ns);
		if (sampler->leader != visitor)
			return;
		sleep_until(visitor, next_ns(sampler, clock_monotonic_ns()));
	}
}

/* May the leader have to wait for a CPU, while there is something to be seen? */
static bool may_wait_for_cpu(const struct sampler *sampler)
{
	const struct placement *placement = &sampler->placement;

	return sampler->session->counting && !placement->realtime && !sampler->idle.some_idle &&
	       CPU_COUNT(&placement->seen);
}

static uint64_t late_tick_ns(const struct sampler *sampler)
{
	uint64_t part_ns = sampler->schedule.period_ns / WATCH_PART;

	return may_wait_for_cpu(sampler) ? min_u64(part_ns, LATE_TICK_NS) : LATE_TICK_NS;
}

/* Does the leader wait for a thread that does not stop, or for a CPU? */
static bool is_leader_late(const struct sampler *sampler)
{
	uint64_t since_ns = atomic_load(&sampler->leader->busy_since_ns);
	uint64_t now_ns = clock_monotonic_ns();

	if (since_ns && now_ns - since_ns > LATE_VISIT_NS)
		return true;
	return (!since_ns || may_wait_for_cpu(sampler)) && sampler->session->counting &&
	       now_ns > sampler->schedule.next_ns + late_tick_ns(sampler);
}

/*
 * The late leader may wait for a CPU that a thread of higher priority has: elsewhere it gets one,
 * and ends its visit, if there is one. If there is none, no other visitor is to lose its CPU there.
 */
static void relieve(struct sampler *sampler, struct visitor *late)
{
	bool visits = atomic_load(&late->busy_since_ns) != 0;

	sampler->counts.nr_unfinished += visits;
	if (late->is_bound && !visits)
		sampler->placement.unbound_until_ns = clock_monotonic_ns() + UNBOUND_NS;
	pool_unbind(late);
}

static void become_leader(struct visitor *visitor)
{
	struct sampler *sampler = visitor->sampler;

	if (sampler->leader)
		relieve(sampler, sampler->leader);
	sampler->leader = visitor;
	if (!pool_has_idle(sampler))
		pool_add(sampler);
	else if (!sampler->session->is_watched)
		sem_post(&sampler->session->calls);
	lead(visitor);
}

/* Where ticks are rare a late visit ends by its alarm: see pool_needs_alarm(). */
static uint64_t idle_pause_ns(const struct sampler *sampler)
{
	if (!pool_has_rare_ticks(sampler))
		return IDLE_PAUSE_NS;
	return min_u64(IDLE_PERIODS * sampler->schedule.period_ns, LONG_IDLE_PAUSE_NS);
}

/* The moment at which an idle visitor is to check whether the leader is late. */
static uint64_t watch_ns(const struct sampler *sampler)
{
	uint64_t latest_ns = clock_monotonic_ns() + idle_pause_ns(sampler);

	if (!may_wait_for_cpu(sampler))
		return latest_ns;
	return min_u64(latest_ns, sampler->schedule.next_ns + late_tick_ns(sampler) + 1);
}

/*
 * Wait for a call. One of the idle visitors also wakes up now and then and checks whether the
 * leader is late; not while a tick is in progress, for whose end it would have to spin.
 */
static void wait_idle(struct visitor *visitor)
{
	struct sampler *sampler = visitor->sampler;
	struct session *session = sampler->session;
	bool watches = !session->is_watched, is_called;
	uint64_t until_ns = watch_ns(sampler);
	uint64_t again_ns = may_wait_for_cpu(sampler) ? WATCH_AGAIN_NS : idle_pause_ns(sampler);

	session->is_watched = visitor->is_idle = true;
	pthread_mutex_unlock(&sampler->lock);
	do {
		is_called = watches ? semaphore_wait_until(&session->calls, until_ns)
				    : sem_wait(&session->calls) == 0;
		until_ns = clock_monotonic_ns() + again_ns;
	} while (!is_called && (!watches || pthread_mutex_trylock(&sampler->lock) != 0));
	if (is_called)
		pthread_mutex_lock(&sampler->lock);
	session->is_watched &= !watches;
	visitor->is_idle = false;
}

static void *visitor_main(void *argument)
{
	struct visitor *visitor = argument;
	struct sampler *sampler = visitor->sampler;
	bool is_realtime = urgency_realtime();

	visitor->priority = is_realtime;
	atomic_store(&visitor->tid, gettid());
	visitor->schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (!is_realtime)
		urgency_short_slices();
	pool_make_alarm(visitor);
	pthread_mutex_lock(&sampler->lock);
	sampler->counts.realtime = is_realtime;
	sampler->placement.realtime = is_realtime;
	while (!sampler->session->is_over) {
		if (!sampler->leader || is_leader_late(sampler))
			become_leader(visitor);
		else
			wait_idle(visitor);
	}
	pthread_mutex_unlock(&sampler->lock);
	pool_end_alarm(visitor);
	atomic_store(&visitor->cpu_ns, clock_thread_cpu_ns());
	if (visitor->schedstat_fd >= 0)
		close(visitor->schedstat_fd);
	return NULL; /* the kernel then detaches all threads still seized, without a stop */
}

int visitors_start(struct sampler *sampler, struct err *err)
{
	return pool_start(sampler, visitor_main, err);
}

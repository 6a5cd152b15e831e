// SPDX-License-Identifier: GPL-2.0-or-later
/* The pool of visitors: two, more on demand, at most eight. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/affinity.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "sampler/sampler_priv.h"
#include "sampler/visitor_pool_priv.h"
#include "sampler/visitor_priv.h"
#include "snapshot/snapshot.h"

#ifndef sigev_notify_thread_id /* missing in glibc's <signal.h>, there in musl's */
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* A visitor interrupts again if the thread has not stopped by then. */
#define ASK_AGAIN_NS (5 * NS_PER_MS)

/* The signal that ends a wait for a stop; its handler does nothing. */
static int poke_signal(void)
{
	return SIGRTMIN + 1;
}

static void on_poke(int signal_nr)
{
	(void)signal_nr;
}

/* Wake a visitor that waits for a stop in vain, so that it interrupts again. */
void pool_poke(struct sampler *sampler, uint64_t now_ns, bool is_end)
{
	for (size_t i = 0; i < sampler->nr_visitors; i++) {
		struct visitor *visitor = sampler->visitors[i];
		uint64_t since_ns = atomic_load(&visitor->busy_since_ns);

		if (!since_ns || visitor == sampler->leader ||
		    (!is_end && now_ns < max_u64(since_ns, visitor->poked_ns) + ASK_AGAIN_NS))
			continue;
		visitor->poked_ns = now_ns;
		pthread_kill(visitor->thread, poke_signal());
	}
}

/* Called with the lock held. */
int pool_add(struct sampler *sampler)
{
	struct visitor *visitor;

	if (sampler->nr_visitors == VISITORS_MAX)
		return 0;
	visitor = xcalloc(1, sizeof(*visitor));
	visitor->sampler = sampler;
	visitor->snapshot = xcalloc(1, sizeof(*visitor->snapshot));
	if (pthread_create(&visitor->thread, NULL, sampler->visitor_main, visitor)) {
		free(visitor->snapshot);
		free(visitor);
		return -1;
	}
	sampler->visitors[sampler->nr_visitors++] = visitor;
	return 0;
}

bool pool_has_idle(const struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->nr_visitors; i++) {
		if (sampler->visitors[i]->is_idle)
			return true;
	}
	return false;
}

bool pool_can_relieve(const struct sampler *sampler)
{
	return sampler->nr_visitors < VISITORS_MAX || pool_has_idle(sampler);
}

int pool_start(struct sampler *sampler, void *(*visitor_main)(void *), struct err *err)
{
	struct sigaction action = {.sa_handler = on_poke};
	int status;

	sigaction(poke_signal(), &action, NULL);
	sampler->visitor_main = visitor_main;
	pthread_mutex_lock(&sampler->lock);
	status = pool_add(sampler);
	if (status == 0)
		pool_add(sampler);
	pthread_mutex_unlock(&sampler->lock);
	return status == 0 ? 0 : err_start(err, "cannot start a thread");
}

void pool_join(struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->nr_visitors; i++) {
		struct visitor *visitor = sampler->visitors[i];

		pthread_join(visitor->thread, NULL);
		snapshot_release(visitor->snapshot);
		free(visitor->snapshot);
	}
}

void pool_make_alarm(struct visitor *visitor)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = poke_signal()};

	event.sigev_notify_thread_id = gettid();
	visitor->has_alarm = timer_create(CLOCK_MONOTONIC, &event, &visitor->alarm) == 0;
}

void pool_end_alarm(struct visitor *visitor)
{
	if (visitor->has_alarm)
		timer_delete(visitor->alarm);
	visitor->has_alarm = false;
}

#define RARE_TICKS_NS (10 * NS_PER_MS)

bool pool_has_rare_ticks(const struct sampler *sampler)
{
	return sampler->schedule.period_ns >= RARE_TICKS_NS;
}

bool pool_needs_alarm(const struct sampler *sampler, const struct sampled_thread *thread)
{
	const struct tick *tick = &sampler->tick;

	for (size_t i = 0; i < tick->nr_running; i++) {
		if (tick->running[i] != thread && tick->running[i]->cpu == thread->cpu)
			return true;
	}
	if (sampler->active.nr + sampler->threads.nr <= 1 &&
	    sampler->schedule.period_ns <= LATE_VISIT_NS)
		return false;
	return pool_has_rare_ticks(sampler) || sampler->session->top_priority ||
	       roster_nr_runnable(sampler->roster) > tick->nr_cpus + 1;
}

/* The timer fires again, as it may first fire just before the wait begins. */
#define RINGS_AGAIN_NS NS_PER_MS

void pool_set_alarm(struct visitor *visitor, uint64_t by_ns)
{
	struct itimerspec when = {
		.it_value = {.tv_sec = (time_t)(by_ns / NS_PER_SEC),
			     .tv_nsec = (long)(by_ns % NS_PER_SEC)},
		.it_interval = {.tv_nsec = by_ns ? (long)RINGS_AGAIN_NS : 0},
	};

	if (visitor->has_alarm)
		timer_settime(visitor->alarm, TIMER_ABSTIME, &when, NULL);
}

void pool_unbind(struct visitor *visitor)
{
	const cpu_set_t *allowed = &visitor->sampler->placement.allowed;

	if (visitor->is_bound)
		affinity_unbind(atomic_load(&visitor->tid), allowed);
	visitor->is_bound = false;
}

/* A search of memory has the lock while it waits for all threads of a process. */
bool pool_hand_over(struct visitor *visitor)
{
	struct sampler *sampler = visitor->sampler;

	if (pthread_mutex_trylock(&sampler->lock) != 0)
		return false;
	if (sampler->leader == visitor) {
		sampler->leader = NULL;
		sampler->counts.nr_unfinished++;
		pool_unbind(visitor); /* first: a new thread inherits that */
		if (!pool_has_idle(sampler))
			pool_add(sampler);
		sem_post(&sampler->session->calls);
	}
	pthread_mutex_unlock(&sampler->lock);
	return true;
}

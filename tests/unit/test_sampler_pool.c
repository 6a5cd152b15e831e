// SPDX-License-Identifier: GPL-2.0-or-later
#include <sched.h>
#include <unistd.h>

#include "sampler/records.h"
#include "sampler/sampler_priv.h"
#include "sampler/visitor_pool_priv.h"
#include "sampler/visitor_priv.h"
#include "tests/unit/unit.h"

/* A thread that is traced meanwhile would wait for whatever has the lock. */
TEST(sampler_pool, handing_over_does_not_wait_for_the_lock)
{
	struct session session = {.counting = true};
	struct visitor idle = {.is_idle = true}, visitor = {.is_idle = false};
	struct visitor *visitors[] = {&idle, &visitor};
	struct sampler *sampler = calloc(1, sizeof(*sampler));

	assert_non_null(sampler);
	sampler->session = &session;
	sampler->leader = &visitor;
	memcpy(sampler->visitors, visitors, sizeof(visitors));
	sampler->nr_visitors = 2;
	visitor.sampler = sampler;
	pthread_mutex_init(&sampler->lock, NULL);
	sem_init(&session.calls, 0, 0);

	pthread_mutex_lock(&sampler->lock);
	assert_false(pool_hand_over(&visitor));
	assert_ptr_equal(sampler->leader, &visitor);
	pthread_mutex_unlock(&sampler->lock);
	assert_true(pool_hand_over(&visitor));
	assert_null(sampler->leader);
	assert_int_equal(sem_trywait(&session.calls), 0);
	assert_true(pool_hand_over(&visitor));
	assert_int_equal(sem_trywait(&session.calls), -1);
	sem_destroy(&session.calls);
	pthread_mutex_destroy(&sampler->lock);
	free(sampler);
}

static int first_cpu(const cpu_set_t *cpus)
{
	int cpu = 0;

	while (!CPU_ISSET((size_t)cpu, cpus))
		cpu++;
	return cpu;
}

/* Where a thread of higher priority has its CPU it would never come to finish its visit. */
TEST(sampler_pool, a_visitor_that_hands_over_is_not_bound_to_a_cpu)
{
	struct session session = {.counting = true};
	struct visitor idle = {.is_idle = true}, visitor = {.is_bound = true};
	struct visitor *visitors[] = {&idle, &visitor};
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	cpu_set_t one, now;

	assert_non_null(sampler);
	sampler->session = &session;
	sampler->leader = &visitor;
	memcpy(sampler->visitors, visitors, sizeof(visitors));
	sampler->nr_visitors = 2;
	visitor.sampler = sampler;
	atomic_store(&visitor.tid, gettid());
	pthread_mutex_init(&sampler->lock, NULL);
	sem_init(&session.calls, 0, 0);
	placement_init(&sampler->placement, true, 1);
	CPU_ZERO(&one);
	CPU_SET((size_t)first_cpu(&sampler->placement.allowed), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);

	assert_true(pool_hand_over(&visitor));
	assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
	assert_true(CPU_EQUAL(&now, &sampler->placement.allowed));
	assert_false(visitor.is_bound);
	sem_destroy(&session.calls);
	pthread_mutex_destroy(&sampler->lock);
	free(sampler);
}

/* Each alarm takes some microseconds from the visited thread, 1,000 times a second. */
TEST(sampler_pool, sets_an_alarm_only_where_a_wait_keeps_others_from_their_samples)
{
	struct session session = {.top_priority = 1};
	struct sampled_thread one = {.cpu = 0}, beside = {.cpu = 0};
	struct sampled_thread *running[] = {&one, &beside};
	struct sampler *sampler = calloc(1, sizeof(*sampler));

	assert_non_null(sampler);
	sampler->session = &session;
	sampler->tick.running = running;
	sampler->tick.nr_running = 1;
	sampler->active.nr = 1;
	sampler->schedule.period_ns = NS_PER_MS;
	assert_false(pool_needs_alarm(sampler, &one));
	sampler->schedule.period_ns = 10 * NS_PER_MS;
	assert_true(pool_needs_alarm(sampler, &one));
	/* A sleeping thread. */
	sampler->schedule.period_ns = NS_PER_MS;
	sampler->threads.nr = 1;
	assert_true(pool_needs_alarm(sampler, &one));
	/* Two on one CPU, of which the other may come first. */
	session.top_priority = 0;
	sampler->tick.nr_running = 2;
	assert_true(pool_needs_alarm(sampler, &one));
	/* Alone, where the idle visitor would wake up as often as the leader. */
	sampler->tick.nr_running = 1;
	sampler->schedule.period_ns = 20 * NS_PER_MS;
	assert_true(pool_needs_alarm(sampler, &one));
	free(sampler);
}

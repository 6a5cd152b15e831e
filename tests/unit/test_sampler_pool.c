// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/sampler_priv.h"
#include "sampler/visitor_pool_priv.h"
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

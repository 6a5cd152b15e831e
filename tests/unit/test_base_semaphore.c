// SPDX-License-Identifier: GPL-2.0-or-later
#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "base/semaphore.h"
#include "tests/unit/unit.h"

TEST(semaphore, what_is_there_is_taken)
{
	sem_t semaphore;

	sem_init(&semaphore, 0, 2);
	assert_true(semaphore_wait_until(&semaphore, clock_monotonic_ns() + NS_PER_SEC));
	/* Also if the time is over. */
	assert_true(semaphore_wait_until(&semaphore, 0));
	assert_false(semaphore_wait_until(&semaphore, 0));
	sem_destroy(&semaphore);
}

TEST(semaphore, waits_up_to_the_time)
{
	uint64_t until_ns = clock_monotonic_ns() + 250 * NS_PER_MS;
	sem_t semaphore;

	sem_init(&semaphore, 0, 0);
	assert_false(semaphore_wait_until(&semaphore, until_ns));
	assert_true(clock_monotonic_ns() >= until_ns);
	sem_destroy(&semaphore);
}

static void *post_later(void *semaphore)
{
	const struct timespec pause = {.tv_nsec = 20 * (long)NS_PER_MS};

	nanosleep(&pause, NULL);
	sem_post(semaphore);
	return NULL;
}

TEST(semaphore, one_that_comes_ends_the_wait)
{
	sem_t semaphore;
	pthread_t thread;

	sem_init(&semaphore, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, post_later, &semaphore), 0);
	/* As long as a test may take: without the post it would not be taken at all. */
	assert_true(semaphore_wait_until(&semaphore, clock_monotonic_ns() + 60 * NS_PER_SEC));
	pthread_join(thread, NULL);
	sem_destroy(&semaphore);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* How long work may go on once a user has asked for the end. */
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/end_timer.h"
#include "tests/unit/unit.h"

#define LONG_NS	    (UINT64_C(3600) * NS_PER_SEC)
#define PATIENCE_NS (20 * NS_PER_SEC)

static bool becomes(const atomic_bool *flag)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t until_ns = clock_monotonic_ns() + PATIENCE_NS;

	while (!atomic_load(flag) && clock_monotonic_ns() < until_ns)
		nanosleep(&pause, NULL);
	return atomic_load(flag);
}

TEST(end_timer, without_a_signal_there_is_no_bound)
{
	const struct timespec pause = {.tv_nsec = 50000000};
	int asked_fd = eventfd(0, EFD_CLOEXEC);
	struct end_timer timer;

	end_timer_start(&timer, asked_fd, false, 1);
	nanosleep(&pause, NULL);
	assert_false(timer.hurried);
	end_timer_stop(&timer);
	assert_false(timer.ended);
	close(asked_fd);
}

TEST(end_timer, one_signal_bounds_the_time_and_two_end_it)
{
	struct end_timer timer;

	for (int was_asked = 0; was_asked <= 1; was_asked++) {
		int asked_fd = eventfd(0, EFD_CLOEXEC);

		if (was_asked)
			eventfd_write(asked_fd, 1); /* it was heard before */
		end_timer_start(&timer, asked_fd, was_asked, NS_PER_SEC / 10);
		if (!was_asked)
			eventfd_write(asked_fd, 1);
		assert_true(becomes(&timer.hurried));
		assert_false(timer.ended);
		eventfd_write(asked_fd, 1);
		assert_true(becomes(&timer.ended));
		end_timer_stop(&timer);
		close(asked_fd);
	}
}

TEST(end_timer, a_second_signal_does_not_wait_for_the_time)
{
	int asked_fd = eventfd(0, EFD_CLOEXEC);
	struct end_timer timer;

	end_timer_start(&timer, asked_fd, true, LONG_NS);
	assert_false(timer.hurried);
	eventfd_write(asked_fd, 1);
	assert_true(becomes(&timer.hurried));
	assert_true(becomes(&timer.ended));
	end_timer_stop(&timer);
	close(asked_fd);
}

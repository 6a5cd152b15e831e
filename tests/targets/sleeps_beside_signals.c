// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sleeps_beside_signals [MS [THREADS [TIMEOUT_MS [GAP_US]]]]: threads (4; 0: the first one) that
 * sleep in epoll_wait(2) of 30 ms, again and again, while a child sends their process a SIGWINCH
 * each GAP_US (0) to 2 ms later, which nobody catches: untraced, nobody is told of them. After MS
 * prints {"waits", "eintr", "early", "late"}.
 */
#include <sys/epoll.h>

#include "waits_beside_signals.h"

static int sleep_once(uint64_t timeout_ms)
{
	static _Thread_local int epoll;
	struct epoll_event event;

	if (!epoll)
		epoll = epoll_create1(0);
	return epoll_wait(epoll, &event, 1, (int)timeout_ms);
}

int main(int argc, char **argv)
{
	const unsigned gap_us = (unsigned)number_argument(argc, argv, 4, 0);
	const struct waits_beside_signals planned = {
		.wait_once = sleep_once,
		.length_ms = number_argument(argc, argv, 1, 2000),
		.nr_threads = number_argument(argc, argv, 2, 4),
		.timeout_ms = number_argument(argc, argv, 3, 30),
		.shortest_gap_us = gap_us,
		.longest_gap_us = gap_us + 2000,
	};

	return wait_beside_signals(&planned);
}

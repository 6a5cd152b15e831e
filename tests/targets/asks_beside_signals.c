// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asks_beside_signals [MS]: threads in sigtimedwait(2), again and again, while a child sends their
 * process thousands of SIGWINCH a second, which nobody catches: untraced, nobody is told of them.
 * After MS prints {"waits", "eintr", "early", "late"}.
 */
#include "waits_beside_signals.h"

static int ask_once(uint64_t timeout_ms)
{
	const struct timespec timeout = {.tv_nsec = (long)(timeout_ms * MS)};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return sigtimedwait(&set, NULL, &timeout);
}

int main(int argc, char **argv)
{
	const struct waits_beside_signals planned = {
		.wait_once = ask_once,
		.length_ms = number_argument(argc, argv, 1, 2000),
		.nr_threads = 2,
		.timeout_ms = 3,
		.shortest_gap_us = 100,
		.longest_gap_us = 100,
	};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return wait_beside_signals(&planned);
}

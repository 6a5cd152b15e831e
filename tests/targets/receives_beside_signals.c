// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * receives_beside_signals [MS]: the first thread waits in recv(2) for 100 ms, which is the timeout
 * of the socket (SO_RCVTIMEO), goes to the next CPU, works there for 10 ms and waits again, while a
 * child sends its process a SIGWINCH each 15 to 25 ms, which nobody catches. After MS (4000) prints
 * {"waits", "eintr", "early", "late"}.
 */
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "waits_beside_signals.h"

static void go_to_next_cpu(void)
{
	cpu_set_t cpus;
	long nr = sysconf(_SC_NPROCESSORS_ONLN);

	CPU_ZERO(&cpus);
	CPU_SET((size_t)((sched_getcpu() + 1) % nr), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus); /* where it may not go it stays */
}

static int open_socket(uint64_t timeout_ms)
{
	const struct timeval timeout = {.tv_usec = (suseconds_t)(timeout_ms * 1000)};
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return -1;
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	return ends[0];
}

static int receive_once(uint64_t timeout_ms)
{
	static int fd = -1;
	uint64_t until_ns;
	char byte;
	int got, why;

	if (fd < 0)
		fd = open_socket(timeout_ms);
	got = (int)recv(fd, &byte, 1, 0);
	why = errno;
	go_to_next_cpu();
	until_ns = monotonic_ns() + 10 * MS;
	while (monotonic_ns() < until_ns)
		continue;
	errno = why;
	return got;
}

int main(int argc, char **argv)
{
	const struct waits_beside_signals planned = {
		.wait_once = receive_once,
		.length_ms = number_argument(argc, argv, 1, 4000),
		.timeout_ms = 100,
		.shortest_gap_us = 15000,
		.longest_gap_us = 25000,
	};

	return wait_beside_signals(&planned);
}

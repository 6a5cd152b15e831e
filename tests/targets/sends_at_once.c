// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sends_at_once MS: writes to a connection that never waits (O_NONBLOCK), as servers with a loop of
 * events do, and only while there is room for all. Prints {"calls", "shorts"}: every call must come
 * out whole.
 */
#include <fcntl.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "self_measure.h"
#include "tcp_pair.h"

#define HALF_BYTES 40000

static char bytes[HALF_BYTES], room[16384];
static int ends[2];

static void *drain(void *unused)
{
	while (read(ends[1], room, sizeof(room)) > 0)
		continue;
	return unused;
}

static int unsent(void)
{
	int nr = 0;

	ioctl(ends[0], SIOCOUTQ, &nr);
	return nr;
}

int main(int argc, char **argv)
{
	const struct iovec parts[] = {{bytes, HALF_BYTES}, {bytes, HALF_BYTES}};
	uint64_t end_ns = monotonic_ns() + number_argument(argc, argv, 1, 1000) * 1000000;
	unsigned int calls = 0, shorts = 0;
	pthread_t peer;

	tcp_pair(ends);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	pthread_create(&peer, NULL, drain, NULL);
	while (monotonic_ns() < end_ns) {
		while (unsent())
			sched_yield();
		calls++;
		shorts += writev(ends[0], parts, 2) != 2 * HALF_BYTES;
	}
	printf("{\"calls\": %u, \"shorts\": %u}\n", calls, shorts);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sends_at_once MS: writes to a connection that never waits (O_NONBLOCK), as servers with a loop of
 * events do, and only while there is room for all. Prints {"calls", "shorts"}: every call must come
 * out whole.
 */
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "self_measure.h"

#define HALF_BYTES 40000

static char bytes[HALF_BYTES], room[16384];
static int ends[2];

static void connect_ends(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(listening, (struct sockaddr *)&address, size) || listen(listening, 1))
		exit(2);
	getsockname(listening, (struct sockaddr *)&address, &size);
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(ends[0], (struct sockaddr *)&address, size))
		exit(2);
	ends[1] = accept(listening, NULL, NULL);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

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

	connect_ends();
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

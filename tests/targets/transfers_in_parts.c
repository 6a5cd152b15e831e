// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * transfers_in_parts: threads in system calls that move bytes or messages a part at a time, against
 * a peer that sleeps in between. Some are in one all the time, others nap before each. When its
 * input ends it prints {"name", "calls", "shorts", "failed"} for each: every call must come out
 * whole.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "own_counts.h"
#include "self_measure.h"

#define LARGE_BYTES (256 << 10)
#define SOME_BYTES  (100 << 10)
#define PAGES_BYTES (12 << 10)
#define PAGE_BYTES  4000
#define PART_BYTES  4096
#define SMALL_BYTES 100
#define MESSAGES    24
#define NAPPING	    8 /* threads of each kind that naps */
#define NAP_US	    5000

struct transfer {
	const char *name;
	void (*prepare)(struct transfer *self);
	long (*call)(struct transfer *self);
	long whole; /* what it must return */
	long nap_us;
	int fd, peer_fd;
	atomic_uint calls, shorts, failed;
};

static void nap_us(long us)
{
	struct timespec time = {.tv_nsec = us * 1000};

	nanosleep(&time, NULL);
}

static void *take(void *argument)
{
	struct transfer *self = argument;
	char part[PART_BYTES];

	while (read(self->peer_fd, part, sizeof(part)) > 0)
		nap_us(300);
	return NULL;
}

static void *give(void *argument)
{
	struct transfer *self = argument;

	while (send(self->peer_fd, "part", 4, 0) > 0)
		nap_us(1000);
	return NULL;
}

static void start_peer(struct transfer *self, void *(*peer)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, peer, self);
}

static void make_pipe(struct transfer *self)
{
	int ends[2];

	if (pipe(ends))
		exit(2);
	self->fd = ends[1];
	self->peer_fd = ends[0];
	start_peer(self, take);
}

static void make_pair(struct transfer *self, int type)
{
	int ends[2];

	if (socketpair(AF_UNIX, type, 0, ends))
		exit(2);
	self->fd = ends[0];
	self->peer_fd = ends[1];
}

static void make_giving_stream(struct transfer *self)
{
	make_pair(self, SOCK_STREAM);
	start_peer(self, give);
}

static void make_giving_datagrams(struct transfer *self)
{
	make_pair(self, SOCK_DGRAM);
	start_peer(self, give);
}

static void make_taking_datagrams(struct transfer *self)
{
	make_pair(self, SOCK_DGRAM);
	start_peer(self, take);
}

static void make_terminal(struct transfer *self)
{
	struct termios settings;

	self->peer_fd = posix_openpt(O_RDWR | O_NOCTTY);
	if (self->peer_fd < 0 || grantpt(self->peer_fd) || unlockpt(self->peer_fd))
		exit(2);
	self->fd = open(ptsname(self->peer_fd), O_RDWR | O_NOCTTY);
	tcgetattr(self->fd, &settings);
	cfmakeraw(&settings);
	tcsetattr(self->fd, TCSANOW, &settings);
	start_peer(self, take);
}

static void make_connection(struct transfer *self)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM, 0);

	self->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listening, (struct sockaddr *)&address, sizeof(address)) || listen(listening, 1) ||
	    getsockname(listening, (struct sockaddr *)&address, &size) ||
	    connect(self->fd, (struct sockaddr *)&address, sizeof(address)))
		exit(2);
	self->peer_fd = accept(listening, NULL, NULL);
	close(listening);
	start_peer(self, take);
}

static long call_write(struct transfer *self)
{
	static char bytes[LARGE_BYTES];

	return write(self->fd, bytes, (size_t)self->whole);
}

static long call_recv(struct transfer *self)
{
	char bytes[SMALL_BYTES];

	return recv(self->fd, bytes, sizeof(bytes), MSG_WAITALL);
}

static void fill_messages(struct mmsghdr *messages, struct iovec *parts, char *room)
{
	for (int i = 0; i < MESSAGES; i++) {
		parts[i] = (struct iovec){.iov_base = room + i * SMALL_BYTES,
					  .iov_len = SMALL_BYTES};
		messages[i] = (struct mmsghdr){
			.msg_hdr = {.msg_iov = &parts[i], .msg_iovlen = 1}};
	}
}

static long call_recvmmsg(struct transfer *self)
{
	struct mmsghdr messages[MESSAGES];
	struct iovec parts[MESSAGES];
	char room[MESSAGES * SMALL_BYTES];

	fill_messages(messages, parts, room);
	return recvmmsg(self->fd, messages, MESSAGES, 0, NULL);
}

static long call_sendmmsg(struct transfer *self)
{
	struct mmsghdr messages[MESSAGES];
	struct iovec parts[MESSAGES];
	char room[MESSAGES * SMALL_BYTES] = {0};

	fill_messages(messages, parts, room);
	return sendmmsg(self->fd, messages, MESSAGES, 0);
}

COUNTED long counted_call(struct transfer *self)
{
	return self->call(self);
}

static void *transfer_main(void *argument)
{
	struct transfer *self = argument;

	for (;;) {
		long moved;

		if (self->nap_us)
			nap_us(self->nap_us);
		moved = counted_call(self);
		atomic_fetch_add(&self->calls, 1);
		if (moved < 0)
			atomic_fetch_add(&self->failed, 1);
		else if (moved < self->whole)
			atomic_fetch_add(&self->shorts, 1);
	}
	return NULL;
}

static void start(struct transfer *transfer)
{
	pthread_t thread;

	transfer->prepare(transfer);
	pthread_create(&thread, NULL, transfer_main, transfer);
}

int main(void)
{
	static struct transfer transfers[] = {
		{"write_pipe", make_pipe, call_write, LARGE_BYTES, .nap_us = 0},
		{"write_pipe_pages", make_pipe, call_write, PAGES_BYTES, .nap_us = 0},
		{"write_terminal", make_terminal, call_write, SOME_BYTES, .nap_us = 0},
		{"write_terminal_page", make_terminal, call_write, PAGE_BYTES, .nap_us = 0},
		{"write_tcp_page", make_connection, call_write, PAGE_BYTES, .nap_us = 0},
		{"recv_waitall", make_giving_stream, call_recv, SMALL_BYTES, .nap_us = 0},
		{"recvmmsg", make_giving_datagrams, call_recvmmsg, MESSAGES, .nap_us = 0},
		{"sendmmsg", make_taking_datagrams, call_sendmmsg, MESSAGES, .nap_us = 0},
	};
	static struct transfer napping[NAPPING];
	const unsigned nr = sizeof(transfers) / sizeof(transfers[0]);
	char end;

	for (unsigned i = 0; i < nr; i++)
		start(&transfers[i]);
	for (unsigned i = 0; i < NAPPING; i++) {
		napping[i] = (struct transfer){"write_terminal_napping", make_terminal, call_write,
					       SOME_BYTES, .nap_us = NAP_US};
		start(&napping[i]);
	}
	say_ready();
	if (read(STDIN_FILENO, &end, 1) < 0)
		return 1;
	for (unsigned i = 0; i < nr + NAPPING; i++) {
		const struct transfer *one = i < nr ? &transfers[i] : &napping[i - nr];

		printf("{\"name\": \"%s\", \"calls\": %u, \"shorts\": %u, \"failed\": %u}\n",
		       one->name, one->calls, one->shorts, one->failed);
	}
	fflush(stdout);
	_exit(0); /* nobody waits for the threads */
}

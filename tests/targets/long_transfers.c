// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * long_transfers [MS]: threads that move megabytes in one system call, each its own way,
 * against a peer that takes or gives as fast as it can; some mix that with other work.
 * Prints {"name", "calls", "shorts", "failed"} for each: every call must come out whole.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "self_measure.h"
#include "tcp_pair.h"

#define MIB (1 << 20)

struct transfer {
	const char *name;
	void (*prepare)(struct transfer *self);
	long (*call)(struct transfer *self);
	long nr_bytes; /* that it must return */
	bool mixes;    /* naps and computes in between */
	int fd, source_fd;
	char *bytes;
	atomic_uint calls, shorts, failed;
};

static void nap_us(long us)
{
	struct timespec time = {.tv_nsec = us * 1000};

	nanosleep(&time, NULL);
}

static void *drain(void *fd)
{
	char *room = malloc(MIB);

	while (read((int)(intptr_t)fd, room, MIB) > 0)
		continue;
	free(room);
	return NULL;
}

static void *fill(void *fd)
{
	char *bytes = calloc(1, MIB);

	while (write((int)(intptr_t)fd, bytes, MIB) > 0)
		continue;
	free(bytes);
	return NULL;
}

static void start_peer(void *(*peer)(void *), int fd)
{
	pthread_t thread;

	pthread_create(&thread, NULL, peer, (void *)(intptr_t)fd);
}

static void make_pipe(struct transfer *self)
{
	int ends[2];

	if (pipe(ends))
		exit(2);
	start_peer(drain, ends[0]);
	self->fd = ends[1];
}

static void make_unix(struct transfer *self)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(2);
	start_peer(drain, ends[1]);
	self->fd = ends[0];
}

static void make_tcp(struct transfer *self)
{
	int ends[2];

	tcp_pair(ends);
	start_peer(drain, ends[1]);
	self->fd = ends[0];
}

static void make_filled_tcp(struct transfer *self)
{
	int ends[2];

	tcp_pair(ends);
	start_peer(fill, ends[1]);
	self->fd = ends[0];
}

static void open_zero(struct transfer *self)
{
	self->fd = open("/dev/zero", O_RDONLY);
}

static void make_file_and_tcp(struct transfer *self)
{
	FILE *file = tmpfile();

	if (!file || ftruncate(fileno(file), self->nr_bytes))
		exit(2);
	self->source_fd = fileno(file);
	make_tcp(self);
}

static void make_file_and_null(struct transfer *self)
{
	FILE *file = tmpfile();

	if (!file || ftruncate(fileno(file), self->nr_bytes))
		exit(2);
	self->source_fd = fileno(file);
	self->fd = open("/dev/null", O_WRONLY);
}

static void make_files(struct transfer *self)
{
	FILE *from = tmpfile(), *to = tmpfile();

	if (!from || !to || ftruncate(fileno(from), self->nr_bytes))
		exit(2);
	self->source_fd = fileno(from);
	self->fd = fileno(to);
}

static long call_write(struct transfer *self)
{
	return write(self->fd, self->bytes, (size_t)self->nr_bytes);
}

static long call_writev(struct transfer *self)
{
	size_t half = (size_t)self->nr_bytes / 2;
	struct iovec parts[] = {{self->bytes, half}, {self->bytes + half, half}};

	return writev(self->fd, parts, 2);
}

static long call_send(struct transfer *self)
{
	return send(self->fd, self->bytes, (size_t)self->nr_bytes, 0);
}

static long call_recv_waitall(struct transfer *self)
{
	return recv(self->fd, self->bytes, (size_t)self->nr_bytes, MSG_WAITALL);
}

static long call_read(struct transfer *self)
{
	return read(self->fd, self->bytes, (size_t)self->nr_bytes);
}

static long call_pread(struct transfer *self)
{
	return pread(self->fd, self->bytes, (size_t)self->nr_bytes, 0);
}

static long call_getrandom(struct transfer *self)
{
	return getrandom(self->bytes, (size_t)self->nr_bytes, 0);
}

static long call_sendfile(struct transfer *self)
{
	off_t from = 0;

	return sendfile(self->fd, self->source_fd, &from, (size_t)self->nr_bytes);
}

static long call_sendfile_to_file(struct transfer *self)
{
	lseek(self->fd, 0, SEEK_SET);
	return call_sendfile(self);
}

static long call_copy_file_range(struct transfer *self)
{
	off_t from = 0, to = 0;

	return copy_file_range(self->source_fd, &from, self->fd, &to, (size_t)self->nr_bytes, 0);
}

static void do_something_else(void)
{
	uint64_t until_ns = thread_cpu_ns() + 300000;
	uint64_t x = 1;

	nap_us(500);
	while (thread_cpu_ns() < until_ns)
		for (unsigned i = 0; i < 1000; i++)
			SPIN_STEP(x);
	poll(NULL, 0, 1);
}

static void *transfer_main(void *argument)
{
	struct transfer *self = argument;

	for (;;) {
		long moved = self->call(self);

		atomic_fetch_add(&self->calls, 1);
		if (moved < 0)
			atomic_fetch_add(&self->failed, 1);
		else if (moved < self->nr_bytes)
			atomic_fetch_add(&self->shorts, 1);
		if (self->mixes)
			do_something_else();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct transfer transfers[] = {
		{"write_pipe", make_pipe, call_write, MIB},
		{"write_pipe_mixed", make_pipe, call_write, MIB, .mixes = true},
		{"writev_pipe", make_pipe, call_writev, MIB},
		{"send_unix", make_unix, call_send, 4 * MIB},
		{"send_tcp", make_tcp, call_send, 16 * MIB},
		{"send_tcp_mixed", make_tcp, call_send, 4 * MIB, .mixes = true},
		{"recv_waitall", make_filled_tcp, call_recv_waitall, 4 * MIB},
		{"read_zero", open_zero, call_read, 32 * MIB},
		{"read_zero_mixed", open_zero, call_read, 16 * MIB, .mixes = true},
		{"pread_zero_mixed", open_zero, call_pread, 16 * MIB, .mixes = true},
		{"getrandom", NULL, call_getrandom, 4 * MIB},
		{"sendfile", make_file_and_tcp, call_sendfile, 16 * MIB},
		{"sendfile_file", make_files, call_sendfile_to_file, 8 * MIB, .mixes = true},
		{"sendfile_null", make_file_and_null, call_sendfile, 16 * MIB, .mixes = true},
		{"copy_file_range", make_files, call_copy_file_range, 8 * MIB, .mixes = true},
	};
	const unsigned nr = sizeof(transfers) / sizeof(transfers[0]);
	uint64_t run_ms = number_argument(argc, argv, 1, 3000);

	for (unsigned i = 0; i < nr; i++) {
		pthread_t thread;

		/* Mapped for good first: no page faults in between. */
		transfers[i].bytes = malloc((size_t)transfers[i].nr_bytes);
		memset(transfers[i].bytes, 1, (size_t)transfers[i].nr_bytes);
		if (transfers[i].prepare)
			transfers[i].prepare(&transfers[i]);
		pthread_create(&thread, NULL, transfer_main, &transfers[i]);
	}
	say_ready();
	usleep((useconds_t)(run_ms * 1000));
	for (unsigned i = 0; i < nr; i++)
		printf("{\"name\": \"%s\", \"calls\": %u, \"shorts\": %u, \"failed\": %u}\n",
		       transfers[i].name, transfers[i].calls, transfers[i].shorts,
		       transfers[i].failed);
	fflush(stdout);
	_exit(0); /* nobody waits for the threads */
}

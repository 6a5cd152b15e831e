// SPDX-License-Identifier: GPL-2.0-or-later
/* The cases that wait for bytes or for room: pipes, sockets, terminals, files. */
#include "blocking_calls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/msg.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define MIB (1 << 20)

static void nap_us(long us)
{
	struct timespec time = {.tv_nsec = us * 1000};

	nanosleep(&time, NULL);
}

/* Takes what comes, a little at a time, so that the writer mostly waits for room. */
static void *drain(void *fd)
{
	static char room[256 << 10];

	for (;;) {
		if (read((int)(intptr_t)fd, room, sizeof(room)) <= 0)
			return NULL;
		nap_us(3000);
	}
}

/* Gives four bytes at a time. */
static void *drip(void *fd)
{
	for (;;) {
		if (send((int)(intptr_t)fd, "drip", 4, 0) < 0)
			return NULL;
		nap_us(3000);
	}
}

static void start_helper(void *(*helper)(void *), int fd)
{
	pthread_t thread;

	pthread_create(&thread, NULL, helper, (void *)(intptr_t)fd);
}

/* Silent descriptors: nothing ever comes. */

static int prepare_silent_pipe(void)
{
	int ends[2];

	return pipe(ends) ? -1 : ends[0];
}

static int prepare_full_pipe(void)
{
	int ends[2];

	if (pipe(ends))
		return -1;
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	while (write(ends[1], "x", 1) == 1)
		;
	errno = 0;
	fcntl(ends[1], F_SETFL, 0);
	return ends[1];
}

static int prepare_inotify(void)
{
	return inotify_init1(IN_CLOEXEC);
}

static int prepare_fanotify(void)
{
	return fanotify_init(FAN_CLASS_NOTIF, O_RDONLY);
}

static int prepare_signalfd(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return signalfd(-1, &set, 0);
}

static int prepare_pty(void)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY);

	if (fd < 0 || grantpt(fd) || unlockpt(fd))
		return -1;
	return open(ptsname(fd), O_RDWR | O_NOCTTY);
}

/* Raw, with reads that wait for so many bytes; `other_end` is what a helper gets. */
static int raw_pty(cc_t least, int *other_end)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), fd;
	struct termios settings;

	if (master < 0 || grantpt(master) || unlockpt(master))
		return -1;
	fd = open(ptsname(master), O_RDWR | O_NOCTTY);
	tcgetattr(fd, &settings);
	cfmakeraw(&settings);
	settings.c_cc[VMIN] = least;
	settings.c_cc[VTIME] = 0;
	tcsetattr(fd, TCSANOW, &settings);
	*other_end = master;
	return fd;
}

#define TERMINAL_BYTES	     40
#define TERMINAL_WRITE_BYTES (100 << 10)

static void *type_on(void *master)
{
	for (;;) {
		if (write((int)(intptr_t)master, "type", 4) < 0)
			return NULL;
		nap_us(300);
	}
}

static void *show(void *master)
{
	char room[4096];

	while (read((int)(intptr_t)master, room, sizeof(room)) > 0)
		nap_us(100);
	return NULL;
}

static int prepare_typed_pty(void)
{
	int master, fd = raw_pty(TERMINAL_BYTES, &master);

	if (fd >= 0)
		start_helper(type_on, master);
	return fd;
}

static int prepare_shown_pty(void)
{
	int master, fd = raw_pty(1, &master);

	if (fd >= 0)
		start_helper(show, master);
	return fd;
}

static long call_read_terminal(int fd)
{
	char bytes[TERMINAL_BYTES];

	return read(fd, bytes, sizeof(bytes));
}

static long call_write_terminal(int fd)
{
	static char bytes[TERMINAL_WRITE_BYTES];

	nap_us(5000);
	return write(fd, bytes, sizeof(bytes));
}

static long call_read(int fd)
{
	char bytes[4096];

	return read(fd, bytes, sizeof(bytes));
}

static long call_write_byte(int fd)
{
	return write(fd, "x", 1);
}

static char fifo_path[64];

static void remove_fifo(void)
{
	unlink(fifo_path);
}

static int prepare_fifo(void)
{
	snprintf(fifo_path, sizeof(fifo_path), "/tmp/profc-fifo-%d", (int)getpid());
	atexit(remove_fifo);
	return mkfifo(fifo_path, 0600);
}

static long call_open_fifo(int unused)
{
	(void)unused;
	return open(fifo_path, O_RDONLY);
}

static long call_splice(int fd)
{
	int ends[2];

	return pipe(ends) ? -1 : splice(fd, NULL, ends[1], NULL, 4096, 0);
}

/* Sockets on which nothing comes. */

static int listener(int domain, int backlog)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(domain, SOCK_STREAM, 0);

	/* A unix socket bound to nothing but its family gets an abstract name. */
	if (domain == AF_INET)
		bind(fd, (struct sockaddr *)&address, sizeof(address));
	else
		bind(fd, (struct sockaddr *)&(struct sockaddr_un){.sun_family = AF_UNIX},
		     sizeof(sa_family_t));
	return listen(fd, backlog) ? -1 : fd;
}

static int prepare_listener(void)
{
	return listener(AF_INET, 1);
}

static void limit_time(int fd, int option)
{
	struct timeval limit = {.tv_usec = TIMEOUT_MS * 1000};

	setsockopt(fd, SOL_SOCKET, option, &limit, sizeof(limit));
}

static int prepare_timed_listener(void)
{
	int fd = listener(AF_INET, 1);

	limit_time(fd, SO_RCVTIMEO);
	return fd;
}

static long call_accept(int fd)
{
	return accept(fd, NULL, NULL);
}

static int tcp_pair(int ends[2])
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);
	int listening = listener(AF_INET, 1);

	getsockname(listening, (struct sockaddr *)&address, &size);
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(ends[0], (struct sockaddr *)&address, sizeof(address)))
		return -1;
	ends[1] = accept(listening, NULL, NULL);
	close(listening);
	return ends[1] < 0 ? -1 : 0;
}

static int prepare_tcp(void)
{
	int ends[2];

	return tcp_pair(ends) ? -1 : ends[0];
}

static int prepare_timed_tcp(void)
{
	int fd = prepare_tcp();

	limit_time(fd, SO_RCVTIMEO);
	return fd;
}

/* Bytes move on to the other end for a while after the first EAGAIN. */
static int prepare_timed_full_tcp(void)
{
	static const char bytes[4096];
	int fd = prepare_tcp();

	/* In large pieces for speed, then to the last byte. */
	for (size_t size = sizeof(bytes); size > 0; size = size > 1 ? 1 : 0)
		for (int refused = 0; refused < 20; refused++)
			if (send(fd, bytes, size, MSG_DONTWAIT) < 0)
				nap_us(1000);
			else
				refused = 0;
	errno = 0;
	limit_time(fd, SO_SNDTIMEO);
	return fd;
}

static int prepare_udp(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	return bind(fd, (struct sockaddr *)&address, sizeof(address)) ? -1 : fd;
}

static int prepare_timed_udp(void)
{
	int fd = prepare_udp();

	limit_time(fd, SO_RCVTIMEO);
	return fd;
}

static int prepare_unix(void)
{
	int ends[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ? -1 : ends[0];
}

static int prepare_timed_unix(void)
{
	int fd = prepare_unix();

	limit_time(fd, SO_RCVTIMEO);
	return fd;
}

static long call_recv(int fd)
{
	char bytes[100];

	return recv(fd, bytes, sizeof(bytes), 0);
}

static long call_recvmsg(int fd)
{
	char bytes[100];
	struct iovec vector = {bytes, sizeof(bytes)};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};

	return recvmsg(fd, &message, 0);
}

static long call_recvmmsg(int fd)
{
	char bytes[100];
	struct iovec vector = {bytes, sizeof(bytes)};
	struct mmsghdr message = {.msg_hdr = {.msg_iov = &vector, .msg_iovlen = 1}};

	return recvmmsg(fd, &message, 1, 0, NULL);
}

/* The peer makes a little room now and then by packing what it has: that is no answer yet. */
static long call_send_byte(int fd)
{
	long sent = send(fd, "x", 1, 0);

	if (sent != 1)
		return sent;
	nap_us(1000);
	errno = EAGAIN;
	return -1;
}

/* Connections to a listener whose backlog is full wait. */

static int full_listener(int domain)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	int fd = listener(domain, 0);

	getsockname(fd, (struct sockaddr *)&address, &size);
	for (int i = 0; i < 4; i++)
		connect(socket(domain, SOCK_STREAM | SOCK_NONBLOCK, 0), (struct sockaddr *)&address,
			size);
	errno = 0;
	return fd;
}

static int prepare_full_tcp_listener(void)
{
	return full_listener(AF_INET);
}

static int prepare_full_unix_listener(void)
{
	return full_listener(AF_UNIX);
}

static long call_connect(int listening)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);

	getsockname(listening, (struct sockaddr *)&address, &size);
	return connect(socket(address.ss_family, SOCK_STREAM, 0), (struct sockaddr *)&address,
		       size);
}

/* It goes on being made behind the call's back. */
static long call_connect_timeout(int listening)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int result, error;

	getsockname(listening, (struct sockaddr *)&address, &size);
	limit_time(fd, SO_SNDTIMEO);
	result = connect(fd, (struct sockaddr *)&address, size);
	error = errno;
	close(fd);
	errno = error;
	return result;
}

/* System V messages. */

static int message_queues[2];

static void remove_message_queues(void)
{
	msgctl(message_queues[0], IPC_RMID, NULL);
	msgctl(message_queues[1], IPC_RMID, NULL);
}

static int prepare_empty_messages(void)
{
	message_queues[0] = msgget(IPC_PRIVATE, 0600);
	message_queues[1] = msgget(IPC_PRIVATE, 0600);
	atexit(remove_message_queues);
	return message_queues[0];
}

static const struct {
	long type;
	char text[1000];
} some_message = {.type = 1};

static int prepare_full_messages(void)
{
	while (!msgsnd(message_queues[1], &some_message, sizeof(some_message.text), IPC_NOWAIT))
		;
	errno = 0;
	return message_queues[1];
}

static long call_msgrcv(int queue)
{
	struct {
		long type;
		char text[1000];
	} message;

	return msgrcv(queue, &message, sizeof(message.text), 0, 0);
}

static long call_msgsnd(int queue)
{
	return msgsnd(queue, &some_message, sizeof(some_message.text), 0);
}

/* Transfers that must be whole. */

static int prepare_drained_pipe(void)
{
	int ends[2];

	if (pipe(ends))
		return -1;
	start_helper(drain, ends[0]);
	return ends[1];
}

static long call_write_large(int fd)
{
	static char bytes[MIB];

	return write(fd, bytes, sizeof(bytes));
}

static int prepare_drained_tcp(void)
{
	int ends[2];

	if (tcp_pair(ends))
		return -1;
	start_helper(drain, ends[1]);
	return ends[0];
}

static long call_send_large(int fd)
{
	static char bytes[16 * MIB];

	return send(fd, bytes, sizeof(bytes), 0);
}

static int prepare_dripping_tcp(void)
{
	int ends[2], on = 1;

	if (tcp_pair(ends))
		return -1;
	setsockopt(ends[1], IPPROTO_TCP, 1 /* TCP_NODELAY */, &on, sizeof(on));
	start_helper(drip, ends[1]);
	return ends[0];
}

static long call_recv_waitall(int fd)
{
	char bytes[100];

	return recv(fd, bytes, sizeof(bytes), MSG_WAITALL);
}

static int prepare_large_file(void)
{
	FILE *file = tmpfile();

	if (!file || ftruncate(fileno(file), 8 * MIB))
		return -1;
	return fileno(file);
}

static long call_pread_large(int fd)
{
	static char bytes[8 * MIB];

	nap_us(5000);
	return pread(fd, bytes, sizeof(bytes), 0);
}

struct blocking_case blocking_transfers[] = {
	NEVER(pipe_read, prepare_silent_pipe, call_read),
	NEVER(pipe_write, prepare_full_pipe, call_write_byte),
	NEVER(inotify_read, prepare_inotify, call_read),
	NEVER(fanotify_read, prepare_fanotify, call_read),
	NEVER(signalfd_read, prepare_signalfd, call_read),
	NEVER(pty_read, prepare_pty, call_read),
	NEVER(fifo_open, prepare_fifo, call_open_fifo),
	NEVER(splice, prepare_silent_pipe, call_splice),
	NEVER(accept, prepare_listener, call_accept),
	TIMED(accept_timeout, prepare_timed_listener, call_accept, -1, EAGAIN),
	NEVER(recv_tcp, prepare_tcp, call_recv),
	TIMED(recv_tcp_timeout, prepare_timed_tcp, call_recv, -1, EAGAIN),
	NEVER(recv_udp, prepare_udp, call_recv),
	TIMED(recv_udp_timeout, prepare_timed_udp, call_recv, -1, EAGAIN),
	NEVER(recv_unix, prepare_unix, call_recv),
	TIMED(recv_unix_timeout, prepare_timed_unix, call_recv, -1, EAGAIN),
	NEVER(recvmsg, prepare_unix, call_recvmsg),
	NEVER(recvmmsg, prepare_udp, call_recvmmsg),
	TIMED(send_tcp_timeout, prepare_timed_full_tcp, call_send_byte, -1, EAGAIN),
	NEVER(connect_tcp, prepare_full_tcp_listener, call_connect),
	TIMED(connect_tcp_timeout, prepare_full_tcp_listener, call_connect_timeout, -1,
	      EINPROGRESS),
	NEVER(connect_unix, prepare_full_unix_listener, call_connect),
	NEVER(msgrcv, prepare_empty_messages, call_msgrcv),
	NEVER(msgsnd, prepare_full_messages, call_msgsnd),
	WHOLE(write_pipe_large, prepare_drained_pipe, call_write_large, MIB),
	WHOLE(send_tcp_large, prepare_drained_tcp, call_send_large, 16 * MIB),
	WHOLE(recv_waitall, prepare_dripping_tcp, call_recv_waitall, 100),
	WHOLE(read_terminal, prepare_typed_pty, call_read_terminal, TERMINAL_BYTES),
	WHOLE(write_terminal, prepare_shown_pty, call_write_terminal, TERMINAL_WRITE_BYTES),
	WHOLE(pread_large, prepare_large_file, call_pread_large, 8 * MIB),
};
const unsigned nr_blocking_transfers = sizeof(blocking_transfers) / sizeof(blocking_transfers[0]);

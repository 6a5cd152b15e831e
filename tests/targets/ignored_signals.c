// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ignored_signals [MS]: a thread in each of some waits with a timeout of 40 ms, again and again,
 * while a child sends each of them a signal that nobody catches every 4 ms. Untraced they are not
 * even woken. For each prints {"name", "waits", "eintr", "wrong", "longest_ns"}; wrong are results
 * other than that of a timeout.
 */
#include <errno.h>
#include <linux/aio_abi.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

#define TIMEOUT_MS 40

static const struct timespec timeout = {.tv_nsec = TIMEOUT_MS * MS};

struct waiter {
	const char *name;
	long (*wait)(int object);
	long on_timeout; /* result, or negated errno */
	int object;
	pid_t tid;
	unsigned long waits, eintr, wrong;
	uint64_t longest_ns;
};

static aio_context_t aio;
static atomic_bool ends;

static long in_epoll_wait(int epoll)
{
	struct epoll_event event;

	return epoll_wait(epoll, &event, 1, TIMEOUT_MS);
}

static long in_epoll_pwait2(int epoll)
{
	struct epoll_event event;

	return syscall(SYS_epoll_pwait2, epoll, &event, 1, &timeout, NULL, 0);
}

static long in_sigtimedwait(int object)
{
	sigset_t set;

	(void)object;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return sigtimedwait(&set, NULL, &timeout);
}

static long in_semtimedop(int id)
{
	struct sembuf take = {.sem_op = -1};

	return semtimedop(id, &take, 1, &timeout);
}

static long in_io_getevents(int object)
{
	struct io_event event;

	(void)object;
	return syscall(SYS_io_getevents, aio, 1, 1, &event, &timeout);
}

static long in_io_pgetevents(int object)
{
	struct io_event event;

	(void)object;
	return syscall(SYS_io_pgetevents, aio, 1, 1, &event, &timeout, NULL);
}

/* The timeout lies where the kernel cannot write what is left of it. */
static long in_ppoll(int object)
{
	(void)object;
	return syscall(SYS_ppoll, NULL, 0, &timeout, NULL, 0);
}

static long in_pselect(int object)
{
	(void)object;
	return syscall(SYS_pselect6, 0, NULL, NULL, NULL, &timeout, NULL);
}

static long in_accept(int socket)
{
	return accept(socket, NULL, NULL);
}

static long in_recv(int socket)
{
	char byte;

	return recv(socket, &byte, 1, 0);
}

static struct sockaddr_un full_listener = {.sun_family = AF_UNIX};

static long in_connect(int object)
{
	const struct timeval length = {.tv_usec = TIMEOUT_MS * 1000};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), error;
	long result;

	(void)object;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &length, sizeof(length));
	result = connect(fd, (struct sockaddr *)&full_listener, sizeof(full_listener));
	error = errno;
	close(fd);
	errno = error;
	return result;
}

static int with_timeout(int fd)
{
	const struct timeval length = {.tv_usec = TIMEOUT_MS * 1000};

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &length, sizeof(length));
	return fd;
}

static int silent_listener(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	listen(fd, 1);
	return with_timeout(fd);
}

static int silent_peer(int type)
{
	int pair[2];

	return socketpair(AF_UNIX, type, 0, pair) == 0 ? with_timeout(pair[0]) : -1;
}

/* One that has as many connections waiting as it lets wait. */
static int listen_fully(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(full_listener.sun_path + 1, sizeof(full_listener.sun_path) - 1, "profc-test-%d",
		 (int)getpid());
	bind(fd, (struct sockaddr *)&full_listener, sizeof(full_listener));
	listen(fd, 0);
	return connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&full_listener,
		       sizeof(full_listener));
}

static void *wait_on(void *argument)
{
	struct waiter *waiter = argument;

	waiter->tid = gettid();
	while (!atomic_load(&ends)) {
		uint64_t begun_ns = monotonic_ns(), lasted_ns;
		long result = waiter->wait(waiter->object);

		result = result < 0 ? -errno : result;
		lasted_ns = monotonic_ns() - begun_ns;
		waiter->waits++;
		waiter->eintr += result == -EINTR;
		waiter->wrong += result != waiter->on_timeout && result != -EINTR;
		if (lasted_ns > waiter->longest_ns)
			waiter->longest_ns = lasted_ns;
	}
	return NULL;
}

static void send_signals(pid_t pid, const struct waiter *waiters, size_t nr)
{
	while (getppid() == pid) {
		usleep(4000);
		for (size_t i = 0; i < nr; i++)
			syscall(SYS_tgkill, pid, waiters[i].tid, SIGWINCH);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	uint64_t length_ms = number_argument(argc, argv, 1, 2000);
	struct waiter waiters[] = {
		{.name = "epoll_wait", .wait = in_epoll_wait, .object = epoll_create1(0)},
		{.name = "epoll_pwait2", .wait = in_epoll_pwait2, .object = epoll_create1(0)},
		{.name = "sigtimedwait", .wait = in_sigtimedwait, .on_timeout = -EAGAIN},
		{.name = "semtimedop",
		 .wait = in_semtimedop,
		 .on_timeout = -EAGAIN,
		 .object = semget(IPC_PRIVATE, 1, 0600)},
		{.name = "io_getevents", .wait = in_io_getevents},
		{.name = "io_pgetevents", .wait = in_io_pgetevents},
		{.name = "ppoll", .wait = in_ppoll},
		{.name = "pselect", .wait = in_pselect},
		{.name = "accept",
		 .wait = in_accept,
		 .on_timeout = -EAGAIN,
		 .object = silent_listener()},
		{.name = "recv",
		 .wait = in_recv,
		 .on_timeout = -EAGAIN,
		 .object = silent_peer(SOCK_STREAM)},
		{.name = "recv of datagrams",
		 .wait = in_recv,
		 .on_timeout = -EAGAIN,
		 .object = silent_peer(SOCK_DGRAM)},
		{.name = "connect",
		 .wait = in_connect,
		 .on_timeout = -EAGAIN,
		 .object = listen_fully()},
	};
	const size_t nr = sizeof(waiters) / sizeof(waiters[0]);
	pthread_t threads[sizeof(waiters) / sizeof(waiters[0])];
	pid_t pid = getpid(), sender;

	if (syscall(SYS_io_setup, 8, &aio))
		return 2;
	for (size_t i = 0; i < nr; i++)
		if (pthread_create(&threads[i], NULL, wait_on, &waiters[i]))
			return 2;
	usleep(20000);
	say_ready();
	sender = fork();
	if (sender == 0)
		send_signals(pid, waiters, nr);
	usleep((useconds_t)(length_ms * 1000));
	atomic_store(&ends, true);
	kill(sender, SIGKILL);
	waitpid(sender, NULL, 0);
	for (size_t i = 0; i < nr; i++) {
		const struct waiter *waiter = &waiters[i];

		pthread_join(threads[i], NULL);
		printf("{\"name\": \"%s\", \"waits\": %lu, \"eintr\": %lu, \"wrong\": %lu, "
		       "\"longest_ns\": %llu}\n",
		       waiter->name, waiter->waits, waiter->eintr, waiter->wrong,
		       (unsigned long long)waiter->longest_ns);
	}
	semctl(waiters[3].object, 0, IPC_RMID);
	return 0;
}

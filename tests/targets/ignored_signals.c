// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ignored_signals [MS]: a thread in each of some waits with a timeout of 40 ms, again and again,
 * while a child sends each of them a signal that nobody catches every 4 ms. Untraced they are not
 * even woken. For each prints {"name", "waits", "eintr", "wrong", "longest_ns"}; wrong are results
 * other than that of a timeout.
 */
#include <errno.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/syscall.h>
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

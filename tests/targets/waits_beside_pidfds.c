// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * waits_beside_pidfds [MS]: threads that start children and wait for them by their pidfds, beside
 * threads in waits of 20 ms that ask for signals with a mask of their own. SIGCHLD is left as it
 * is. One more waits for ever, and is sent signals whose handler runs in that wait only, each when
 * the wait has failed for the one before. Prints {"children", "waits", "early", "signals",
 * "handled", "told"}: of the waits, those that ended by their timeout before it was over; the
 * signals, how often their handler ran, and how often the wait failed.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

#define TIMEOUT_MS 20

static atomic_ulong children, waits, early, signals, handled, told;
static atomic_bool ends, is_lost;

static int in_sigtimedwait(int object)
{
	const struct timespec timeout = {.tv_nsec = TIMEOUT_MS * MS};
	sigset_t set;

	(void)object;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return sigtimedwait(&set, NULL, &timeout);
}

static int in_epoll_pwait(int epoll)
{
	struct epoll_event event;
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	return epoll_pwait(epoll, &event, 1, TIMEOUT_MS, &mask);
}

static void *wait_on(void *argument)
{
	int (*wait)(int) = *(int (**)(int))argument;
	int epoll = epoll_create1(0);

	while (!atomic_load(&ends)) {
		uint64_t begun_ns = monotonic_ns();
		bool failed = wait(epoll) < 0 && errno == EINTR;

		atomic_fetch_add(&early, !failed && monotonic_ns() - begun_ns < TIMEOUT_MS * MS);
		atomic_fetch_add(&waits, 1);
	}
	return NULL;
}

static void *fork_on(void *unused)
{
	(void)unused;
	while (!atomic_load(&ends)) {
		pid_t pid = fork();
		struct pollfd watched;

		if (pid == 0)
			_exit(0);
		watched = (struct pollfd){.fd = (int)syscall(SYS_pidfd_open, pid, 0),
					  .events = POLLIN};
		poll(&watched, 1, -1);
		atomic_fetch_add(&children, waitpid(pid, NULL, WNOHANG) == pid);
		close(watched.fd);
	}
	return NULL;
}

static void handle(int number)
{
	(void)number;
	atomic_fetch_add(&handled, 1);
}

static void *wait_for_signals(void *unused)
{
	int epoll = epoll_create1(0);
	struct epoll_event event;
	sigset_t none;

	(void)unused;
	sigemptyset(&none);
	while (!atomic_load(&ends)) {
		if (epoll_pwait(epoll, &event, 1, -1, &none) < 0 && errno == EINTR)
			atomic_fetch_add(&told, 1);
	}
	return NULL;
}

/* So long after its signal a wait that has not failed never will. */
#define LOST_NS (2000 * MS)

static void *send_signals(void *argument)
{
	pthread_t thread = *(pthread_t *)argument;

	while (!atomic_load(&ends) && !atomic_load(&is_lost)) {
		uint64_t sent_ns = monotonic_ns();
		unsigned long before = atomic_load(&told);

		atomic_fetch_add(&signals, 1);
		pthread_kill(thread, SIGUSR1);
		while (atomic_load(&told) == before && !atomic_load(&is_lost)) {
			usleep(200);
			atomic_store(&is_lost, monotonic_ns() - sent_ns >= LOST_NS);
		}
		usleep(300);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static int (*waits_in[])(int) = {in_sigtimedwait, in_epoll_pwait};
	uint64_t length_ms = number_argument(argc, argv, 1, 2000);
	pthread_t threads[10], waiting, sending;
	sigset_t handled_in_wait;
	size_t nr = 0;

	sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handle}, NULL);
	sigemptyset(&handled_in_wait);
	sigaddset(&handled_in_wait, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &handled_in_wait, NULL);
	for (size_t i = 0; i < 8; i++)
		nr += pthread_create(&threads[nr], NULL, wait_on, &waits_in[i % 2]) == 0;
	for (size_t i = 0; i < 2; i++)
		nr += pthread_create(&threads[nr], NULL, fork_on, NULL) == 0;
	pthread_create(&waiting, NULL, wait_for_signals, NULL);
	pthread_create(&sending, NULL, send_signals, &waiting);
	say_ready();
	usleep((useconds_t)(length_ms * 1000));
	atomic_store(&ends, true);
	for (size_t i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	pthread_join(sending, NULL);
	printf("{\"children\": %lu, \"waits\": %lu, \"early\": %lu, \"signals\": %lu, "
	       "\"handled\": %lu, \"told\": %lu}\n",
	       atomic_load(&children), atomic_load(&waits), atomic_load(&early),
	       atomic_load(&signals), atomic_load(&handled), atomic_load(&told));
	return 0;
}

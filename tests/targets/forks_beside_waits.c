// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * forks_beside_waits [MS]: threads that start children, by fork() and vfork(), and wait for
 * them, beside threads in calls that fail with EINTR when woken for a signal. SIGCHLD
 * is left as it is: nobody catches it, and no thread is ever told of it. After MS prints
 * {"children", "waits", "eintr"}.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

static atomic_ulong children, waits, eintr;
static atomic_bool ends;

static void count_wait(int result)
{
	atomic_fetch_add(&waits, 1);
	if (result < 0 && errno == EINTR)
		atomic_fetch_add(&eintr, 1);
}

static void *wait_in_epoll(void *argument)
{
	int epoll = epoll_create1(0), timeout = *(int *)argument;
	struct epoll_event event;

	while (!atomic_load(&ends))
		count_wait(epoll_wait(epoll, &event, 1, timeout));
	return NULL;
}

static void *wait_for_signal(void *argument)
{
	struct timespec timeout = {.tv_nsec = *(int *)argument * 1000000L};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	while (!atomic_load(&ends))
		count_wait(sigtimedwait(&set, NULL, &timeout));
	return NULL;
}

static void *wait_for_semaphore(void *argument)
{
	struct timespec timeout = {.tv_nsec = *(int *)argument * 1000000L};
	struct sembuf take = {.sem_op = -1};
	int id = semget(IPC_PRIVATE, 1, 0600);

	while (!atomic_load(&ends))
		count_wait(semtimedop(id, &take, 1, &timeout));
	semctl(id, 0, IPC_RMID);
	return NULL;
}

static void reap(pid_t pid)
{
	if (pid > 0 && waitpid(pid, NULL, 0) == pid)
		atomic_fetch_add(&children, 1);
}

static void *fork_on(void *argument)
{
	while (!atomic_load(&ends)) {
		pid_t pid = fork();

		if (pid == 0) {
			usleep((useconds_t)(*(int *)argument * 1000));
			_exit(0);
		}
		reap(pid);
	}
	return NULL;
}

static void *vfork_on(void *argument)
{
	while (!atomic_load(&ends)) {
		pid_t pid = vfork();

		if (pid == 0) {
			nanosleep(&(struct timespec){.tv_nsec = *(int *)argument * 1000000L}, NULL);
			_exit(0);
		}
		reap(pid);
	}
	return NULL;
}

/* Not posix_spawn(3): it blocks signals, and those that are blocked are not ignored. */
static void *execute_on(void *argument)
{
	char *argv[] = {"/bin/true", NULL};

	(void)argument;
	while (!atomic_load(&ends)) {
		pid_t pid = vfork();

		if (pid == 0) {
			execv(argv[0], argv);
			_exit(1);
		}
		reap(pid);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const bodies[])(void *) = {
		fork_on, vfork_on, execute_on, wait_in_epoll, wait_for_signal, wait_for_semaphore};
	static int ms[] = {3, 1, 7, 20};
	uint64_t length_ms = number_argument(argc, argv, 1, 2000);
	pthread_t threads[24];
	size_t nr = 0;

	for (size_t i = 0; i < 24; i++)
		nr += pthread_create(&threads[nr], NULL, bodies[i % 6], &ms[i / 6]) == 0;
	say_ready();
	usleep((useconds_t)(length_ms * 1000));
	atomic_store(&ends, true);
	for (size_t i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	printf("{\"children\": %lu, \"waits\": %lu, \"eintr\": %lu}\n", atomic_load(&children),
	       atomic_load(&waits), atomic_load(&eintr));
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * watched_children NR THREADS WAY...: each of so many threads starts children one after another,
 * NR together in each way, waits until a pidfd of the child can be read, and then asks for the
 * child without waiting. Prints {"name", "children", "missed"} of each way: those that lived still.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x1000
#endif

#define MAX_THREADS 16

/* As linux/sched.h has it, which older ones do not. */
struct fork_request {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};

static int open_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static void *wait_for_ever(void *nothing)
{
	for (;;)
		pause();
	return nothing;
}

static pid_t start(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid;
}

static pid_t at_once(int *pidfd)
{
	pid_t pid = start();

	*pidfd = open_pidfd(pid);
	return pid;
}

static pid_t soon(int *pidfd)
{
	pid_t pid = fork();

	if (pid == 0) {
		nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
		_exit(0);
	}
	*pidfd = open_pidfd(pid);
	return pid;
}

/* The pidfd comes with the child. */
static pid_t with_pidfd(int *pidfd)
{
	struct fork_request request = {.flags = CLONE_PIDFD, .exit_signal = SIGCHLD};
	pid_t pid;

	request.pidfd = (uint64_t)(uintptr_t)pidfd;
	pid = (pid_t)syscall(SYS_clone3, &request, sizeof(request));
	if (pid == 0)
		syscall(SYS_exit_group, 0);
	return pid;
}

static pid_t with_threads(int *pidfd)
{
	pid_t pid = fork();
	pthread_t thread;

	if (pid == 0) {
		for (unsigned i = 0; i < 3; i++)
			pthread_create(&thread, NULL, wait_for_ever, NULL);
		_exit(0);
	}
	*pidfd = open_pidfd(pid);
	return pid;
}

static pid_t program(int *pidfd)
{
	char *argv[] = {(char *)(intptr_t) "true", NULL};
	char *none[] = {NULL};
	pid_t pid;

	if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, none))
		return -1;
	*pidfd = open_pidfd(pid);
	return pid;
}

/* Most children are waited for, and one in sixteen is watched. */
static pid_t among_others(int *pidfd)
{
	for (unsigned i = 0; i < 15; i++)
		waitpid(start(), NULL, 0);
	return at_once(pidfd);
}

/* One of several that live at the same time. */
static pid_t beside_another(int *pidfd)
{
	pid_t other = start();
	pid_t pid = at_once(pidfd);

	waitpid(other, NULL, 0);
	return pid;
}

/* One was waited for, whichever it was: this is the other one. */
static pid_t after_any(int *pidfd)
{
	int other_pidfd;
	pid_t other = at_once(&other_pidfd);
	pid_t pid = at_once(pidfd);
	pid_t taken = waitpid(-1, NULL, 0);

	if (taken == other) {
		close(other_pidfd);
		return pid;
	}
	close(*pidfd);
	*pidfd = other_pidfd;
	return taken == pid ? other : -1;
}

/* It is opened when all but the last of the child is over. */
static pid_t after_end_of_pipe(int *pidfd)
{
	int ends[2];
	char byte;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	pid = start();
	close(ends[1]);
	if (read(ends[0], &byte, 1) == 0)
		*pidfd = open_pidfd(pid);
	close(ends[0]);
	return pid;
}

struct way {
	const char *name;
	pid_t (*start)(int *pidfd);
	unsigned share; /* it takes so much longer */
};

static const struct way ways[] = {
	{"at_once", at_once, 1},
	{"soon", soon, 1},
	{"with_pidfd", with_pidfd, 1},
	{"with_threads", with_threads, 1},
	{"program", program, 1},
	{"among_others", among_others, 10},
	{"beside_another", beside_another, 1},
	{"after_any", after_any, 1}, /* for one thread */
	{"after_end_of_pipe", after_end_of_pipe, 1},
};

static const struct way *way;
static atomic_long nr_left;
static atomic_ulong children, missed;

static void *start_and_watch(void *unused)
{
	(void)unused;
	while (atomic_fetch_sub(&nr_left, 1) > 0) {
		struct pollfd watched = {.fd = -1, .events = POLLIN};
		pid_t pid = way->start(&watched.fd);

		if (pid < 0 || watched.fd < 0)
			abort();
		while (poll(&watched, 1, -1) != 1)
			continue;
		if (waitpid(pid, NULL, WNOHANG) != pid) {
			atomic_fetch_add(&missed, 1);
			waitpid(pid, NULL, 0);
		}
		atomic_fetch_add(&children, 1);
		close(watched.fd);
	}
	return NULL;
}

static const struct way *find_way(const char *name)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(ways[i].name, name) == 0)
			return &ways[i];
	}
	abort();
}

int main(int argc, char **argv)
{
	size_t nr_threads = number_argument(argc, argv, 2, 1);
	pthread_t threads[MAX_THREADS];

	for (int i = 3; i < argc; i++) {
		size_t nr = 0;

		way = find_way(argv[i]);
		atomic_store(&nr_left, (long)(number_argument(argc, argv, 1, 100) / way->share));
		atomic_store(&children, 0);
		atomic_store(&missed, 0);
		while (nr < nr_threads - 1 && nr < MAX_THREADS)
			nr += pthread_create(&threads[nr], NULL, start_and_watch, NULL) == 0;
		start_and_watch(NULL);
		while (nr)
			pthread_join(threads[--nr], NULL);
		printf("{\"name\": \"%s\", \"children\": %lu, \"missed\": %lu}\n", way->name,
		       atomic_load(&children), atomic_load(&missed));
		fflush(stdout);
	}
	return 0;
}

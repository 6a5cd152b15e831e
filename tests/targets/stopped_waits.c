// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stopped_waits: threads that wait for ever, each its own way, beginning anew whenever that
 * fails. Prints how often it failed with EINTR, {"name", "eintr", "failed"} for each, once
 * standard input is closed. Calls that the kernel does not restart (signal(7)) fail once for
 * each time that job control stops and continues the process; the others never.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "self_measure.h"

struct wait {
	const char *name;
	int (*call)(int fd);
	int fd;
	atomic_uint eintr, failed;
};

static int wait_epoll(int fd)
{
	struct epoll_event event;

	return epoll_wait(fd, &event, 1, -1);
}

static int wait_semaphore(int fd)
{
	struct sembuf down = {.sem_op = -1};

	return semop(fd, &down, 1);
}

static int wait_signal(int fd)
{
	sigset_t set;
	siginfo_t info;

	(void)fd;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return sigwaitinfo(&set, &info);
}

static int wait_receive(int fd)
{
	char byte;

	return (int)recv(fd, &byte, 1, 0);
}

static int wait_poll(int fd)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};

	return poll(&one, 1, -1);
}

static int wait_sleep(int fd)
{
	struct timespec time = {.tv_sec = 1000};

	(void)fd;
	return nanosleep(&time, NULL);
}

static void *wait_main(void *argument)
{
	struct wait *self = argument;

	for (;;) {
		if (self->call(self->fd) >= 0 || errno != EINTR)
			atomic_fetch_add(&self->failed, 1);
		else
			atomic_fetch_add(&self->eintr, 1);
	}
	return NULL;
}

static int socket_with_timeout(void)
{
	const struct timeval timeout = {.tv_sec = 1000};
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ||
	    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)))
		exit(2);
	return ends[0];
}

int main(void)
{
	int semaphore = semget(IPC_PRIVATE, 1, 0600);
	struct wait waits[] = {
		{"epoll_wait", wait_epoll, epoll_create1(0)},
		{"semop", wait_semaphore, semaphore},
		{"sigwaitinfo", wait_signal, -1},
		{"recv_timeout", wait_receive, socket_with_timeout()},
		{"poll", wait_poll, socket_with_timeout()},
		{"nanosleep", wait_sleep, -1},
	};
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, wait_main, &waits[i]);
	}
	say_ready();
	wait_for_end();
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		printf("{\"name\": \"%s\", \"eintr\": %u, \"failed\": %u}\n", waits[i].name,
		       waits[i].eintr, waits[i].failed);
	fflush(stdout);
	semctl(semaphore, 0, IPC_RMID);
	_exit(0); /* nobody waits for the threads */
}

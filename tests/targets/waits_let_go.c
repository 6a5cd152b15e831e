// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * waits_let_go: threads in waits that fail with EINTR when woken for a signal, while another sends
 * to one of them, some thousand times a second, a signal that nobody catches, and a third makes
 * children. Untraced, none is even woken. Until its standard input ends; then it prints {"signals",
 * "waits", "eintr_traced", "eintr_let_go"}: the latter are those of threads whose tracer was gone
 * by then.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

#define THREADS 16

static atomic_ulong nr_signals, waits, eintr_traced, eintr_let_go;
static atomic_bool ends;

static bool is_traced(void)
{
	int fd = open("/proc/thread-self/status", O_RDONLY);
	char text[4096];
	ssize_t got = read(fd, text, sizeof(text) - 1);
	const char *tracer;

	close(fd);
	text[got > 0 ? got : 0] = 0;
	tracer = strstr(text, "TracerPid:");
	return tracer && strtol(tracer + strlen("TracerPid:"), NULL, 10) != 0;
}

static void count_wait(long result)
{
	atomic_fetch_add(&waits, 1);
	if (result < 0 && errno == EINTR)
		atomic_fetch_add(is_traced() ? &eintr_traced : &eintr_let_go, 1);
}

static void *wait_in_epoll(void *argument)
{
	int epoll = epoll_create1(0);
	struct epoll_event event;

	while (!atomic_load(&ends))
		count_wait(epoll_wait(epoll, &event, 1, 20));
	return argument;
}

static void *wait_for_signal(void *argument)
{
	const struct timespec timeout = {.tv_nsec = 20 * MS};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	while (!atomic_load(&ends))
		count_wait(sigtimedwait(&set, NULL, &timeout));
	return argument;
}

static void *wait_for_semaphore(void *argument)
{
	const struct timespec timeout = {.tv_nsec = 20 * MS};
	struct sembuf take = {.sem_op = -1};
	int id = semget(IPC_PRIVATE, 1, 0600);

	while (!atomic_load(&ends))
		count_wait(semtimedop(id, &take, 1, &timeout));
	semctl(id, 0, IPC_RMID);
	return argument;
}

static void *wait_for_bytes(void *argument)
{
	const struct timeval timeout = {.tv_usec = 20000};
	int pair[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return NULL;
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	while (!atomic_load(&ends))
		count_wait(recv(pair[0], &byte, 1, 0));
	return argument;
}

static void *make_children(void *argument)
{
	while (!atomic_load(&ends)) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
		usleep(3000);
	}
	return argument;
}

static void *send_signals(void *argument)
{
	const pthread_t *threads = argument;

	for (size_t i = 0; !atomic_load(&ends); i++) {
		pthread_kill(threads[i % THREADS], SIGURG);
		atomic_fetch_add(&nr_signals, 1);
		usleep(500);
	}
	return NULL;
}

int main(void)
{
	static void *(*const bodies[])(void *) = {wait_in_epoll, wait_for_signal,
						  wait_for_semaphore, wait_for_bytes};
	pthread_t threads[THREADS + 2];

	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, bodies[i % 4], NULL);
	pthread_create(&threads[THREADS], NULL, make_children, NULL);
	pthread_create(&threads[THREADS + 1], NULL, send_signals, threads);
	say_ready();
	wait_for_end();
	atomic_store(&ends, true);
	for (size_t i = 0; i < THREADS + 2; i++)
		pthread_join(threads[i], NULL);
	printf("{\"signals\": %lu, \"waits\": %lu, \"eintr_traced\": %lu, \"eintr_let_go\": %lu}\n",
	       atomic_load(&nr_signals), atomic_load(&waits), atomic_load(&eintr_traced),
	       atomic_load(&eintr_let_go));
	return 0;
}

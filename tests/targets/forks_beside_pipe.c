// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * forks_beside_pipe thread|child MS: the main thread waits at a pipe that another thread writes to
 * while children are forked that never do, or that a forked child writes to, which closes the
 * other end after 200 ms, while this process keeps both. Prints {"child"}, 0 for a thread.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ends[2];
static int nr_rounds;

static void sleep_ms(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static void feed(void)
{
	for (int i = 0; i < nr_rounds; i++) {
		sleep_ms(50);
		if (write(ends[1], "x", 1) < 0)
			abort();
	}
}

static void *feeder(void *unused)
{
	(void)unused;
	feed();
	exit(0);
}

static void *forker(void *unused)
{
	(void)unused;
	for (;;) {
		pid_t child = fork();

		if (!child) {
			sleep_ms(40);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	return NULL;
}

static void *idler(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pid_t child = 0;
	char byte;

	if (argc < 3 || pipe(ends) < 0)
		return 2;
	nr_rounds = atoi(argv[2]) / 50;
	if (strcmp(argv[1], "child") == 0) {
		child = fork();
		if (!child) {
			sleep_ms(200);
			close(ends[0]);
			feed();
			return 0;
		}
		pthread_create(&thread, NULL, idler, NULL);
	} else {
		pthread_create(&thread, NULL, feeder, NULL);
		pthread_create(&thread, NULL, forker, NULL);
	}
	printf("{\"child\": %d}\n", (int)child);
	fflush(stdout);
	for (int i = 0; i < nr_rounds && read(ends[0], &byte, 1) > 0; i++)
		;
	return 0;
}

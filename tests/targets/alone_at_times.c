// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * alone_at_times: a thread that is the only one most of the time, calls turn() over and over, and
 * in between makes a second thread, or a child by vfork() that keeps it waiting for 3 ms. Until
 * standard input ends; then {"turns", "threads", "vforks", "wrong"}: wrong results of any of these.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

static unsigned long turns;

/* Of 100 bytes each; returns how many were wrong. */
NOINLINE static unsigned long turn(unsigned nr)
{
	unsigned long wrong = 0;

	turns++;
	for (unsigned i = 0; i < nr; i++) {
		unsigned char *block = malloc(100);

		for (unsigned k = 0; k < 100; k++)
			block[k] = (unsigned char)(i + k);
		__asm__ volatile("" ::"r"(block) : "memory");
		for (unsigned k = 0; k < 100; k++)
			wrong += block[k] != (unsigned char)(i + k);
		free(block);
	}
	return wrong;
}

static void *turn_beside(void *nothing)
{
	(void)nothing;
	return (void *)(uintptr_t)turn(100);
}

static unsigned long make_thread(void)
{
	pthread_t thread;
	void *wrong;

	if (pthread_create(&thread, NULL, turn_beside, NULL) != 0)
		return 1;
	turn(1000);
	pthread_join(thread, &wrong);
	return (uintptr_t)wrong;
}

static unsigned long make_child(void)
{
	const struct timespec held = {.tv_nsec = 3000000};
	pid_t pid = vfork();
	int status;

	if (pid == 0) {
		nanosleep(&held, NULL);
		_exit(3);
	}
	return waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 3;
}

int main(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	unsigned long threads = 0, vforks = 0, wrong = 0;

	say_ready();
	while (poll(&input, 1, 0) == 0) {
		for (unsigned i = 0; i < 20; i++)
			wrong += turn(1000);
		wrong += make_thread();
		threads++;
		if (threads % 4)
			continue;
		wrong += make_child();
		vforks++;
	}
	printf("{\"turns\": %lu, \"threads\": %lu, \"vforks\": %lu, \"wrong\": %lu}\n", turns,
	       threads, vforks, wrong);
	return 0;
}

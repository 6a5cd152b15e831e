// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ids_churn COUNT: one process starts and ends threads as fast as it can, and another one, its
 * child, COUNT children that live for a moment. With few ids to go round, each soon has one that
 * was another's. Says "ready"; the children find out whether somebody traces them, and at the end
 * the child prints {"children": COUNT, "traced": COUNT}.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

#define THREADS_AT_ONCE 40

static bool is_traced(void)
{
	char text[4096];
	char line[] = "\nTracerPid:\t";
	FILE *file = fopen("/proc/self/status", "r");
	size_t got = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	char *found;

	if (file)
		fclose(file);
	text[got] = '\0';
	found = strstr(text, line);
	return found && found[sizeof(line) - 1] != '0';
}

static int live_for_a_moment(void)
{
	bool traced = is_traced();

	usleep(500);
	return traced || is_traced();
}

static void make_children(unsigned nr)
{
	unsigned children = 0, traced = 0;

	while (children < nr) {
		pid_t pid = fork();
		int status = 0;

		if (pid == 0)
			_exit(live_for_a_moment());
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			continue;
		children++;
		traced += status != 0;
	}
	printf("{\"children\": %u, \"traced\": %u}\n", children, traced);
}

static void *short_life(void *unused)
{
	usleep(100);
	return unused;
}

static void churn_threads_beside(pid_t forker)
{
	pthread_t threads[THREADS_AT_ONCE];
	bool started[THREADS_AT_ONCE];

	while (waitpid(forker, NULL, WNOHANG) == 0) {
		for (unsigned i = 0; i < THREADS_AT_ONCE; i++)
			started[i] = pthread_create(&threads[i], NULL, short_life, NULL) == 0;
		for (unsigned i = 0; i < THREADS_AT_ONCE; i++)
			if (started[i])
				pthread_join(threads[i], NULL);
	}
}

int main(int argc, char **argv)
{
	unsigned nr_children = (unsigned)number_argument(argc, argv, 1, 2000);
	pid_t forker = fork();

	if (forker == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		make_children(nr_children);
		return 0;
	}
	say_ready();
	churn_threads_beside(forker);
	return 0;
}

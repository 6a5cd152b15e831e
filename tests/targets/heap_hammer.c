// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that allocate in all ways and look after what they keep, with threads that are born and
 * end, children by fork, vfork and posix_spawn, and signals, until standard input is closed.
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define KEPT	256

extern char **environ;

static volatile int is_over;
static volatile unsigned long nr_signals;
static unsigned long nr_rounds[THREADS];

static void expect(int is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void *live_briefly(void *context)
{
	char *pointer = malloc(100);

	memset(pointer, 1, 100);
	free(pointer);
	return context;
}

static void expect_end(pid_t child, int code)
{
	int status;

	expect(waitpid(child, &status, 0) == child && WIFEXITED(status) &&
		       WEXITSTATUS(status) == code,
	       "a child has ended otherwise");
}

static void fork_one(void)
{
	pid_t child = fork();

	if (child == 0) {
		for (size_t i = 0; i < 1000; i++) {
			void *volatile pointer = malloc(i);

			free(pointer);
		}
		_exit(42);
	}
	expect_end(child, 42);
}

static void vfork_one(void)
{
	pid_t child = vfork();

	if (child == 0)
		_exit(43);
	expect_end(child, 43);
}

static void spawn_one(void)
{
	char program[] = "/bin/true";
	char *argv[] = {program, NULL};
	pid_t child;

	if (posix_spawn(&child, program, NULL, NULL, argv, environ) == 0)
		expect_end(child, 0);
}

struct kept {
	unsigned char *pointer;
	size_t nr;
};

static void *allocate(unsigned char *old, unsigned int how, size_t *nr)
{
	void *pointer = NULL;

	if (how == 3)
		return realloc(old, *nr);
	free(old);
	switch (how) {
	case 2:
		return calloc(1, *nr);
	case 4:
		return memalign(64, *nr);
	case 5:
		expect(posix_memalign(&pointer, 4096, *nr) == 0, "posix_memalign failed");
		return pointer;
	case 6:
		*nr = 30;
		return strdup("hello, a string to be copied..");
	case 7:
		return aligned_alloc(32, (*nr + 31) & ~(size_t)31);
	default:
		return malloc(*nr);
	}
}

static void replace(struct kept *kept, unsigned int x)
{
	unsigned char mark = (unsigned char)(x >> 24);
	size_t nr = 1 + (x >> 8) % 3000;

	if (kept->pointer)
		expect(kept->pointer[0] == mark && kept->pointer[kept->nr - 1] == mark,
		       "contents are wrong");
	if ((x & 1023) == 0)
		nr *= 300;
	kept->pointer = allocate(kept->pointer, (x >> 4) % 8, &nr);
	expect(kept->pointer != NULL, "an allocation failed");
	memset(kept->pointer, mark, nr);
	kept->nr = nr;
}

static void *run(void *context)
{
	size_t id = (size_t)(unsigned long *)context / sizeof(long) % THREADS;
	unsigned int x = 7 * (unsigned int)id + 1;
	struct kept kept[KEPT] = {{0}};

	while (!is_over) {
		pthread_t thread;

		x = x * 1103515245u + 12345u;
		replace(&kept[x >> 24], x);
		if ((x >> 8 & 0xfff) == 5 && !pthread_create(&thread, NULL, live_briefly, NULL))
			pthread_join(thread, NULL);
		if ((x >> 8 & 0x3fff) == 6)
			fork_one();
		if ((x >> 8 & 0x3fff) == 7)
			vfork_one();
		if ((x >> 8 & 0x3fff) == 8)
			spawn_one();
		++*(unsigned long *)context;
	}
	return NULL;
}

static void on_signal(int signal)
{
	(void)signal;
	nr_signals++;
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	const struct itimerval often = {{0, 2000}, {0, 2000}};
	pthread_t threads[THREADS];
	unsigned long sum = 0;
	char line[100];

	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, &nr_rounds[i]);
	expect(write(1, "ready\n", 6) == 6, "nobody listens");
	while (read(0, line, sizeof(line)) > 0)
		;
	is_over = 1;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += nr_rounds[i];
	}
	printf("{\"rounds\":%lu,\"signals\":%lu}\n", sum, nr_signals);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * counted_storm [THREADS]: everything at once that makes it hard to change the code of a program:
 * threads that call counted() and all of the malloc family and check what they get, threads that
 * are born and die, forks, children started by vfork, and a signal every 2 ms of CPU time. Until
 * standard input ends; then {"calls", "forks", "spawned", "births", "signals"}.
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "self_measure.h"

#define NR_KEPT	    128
#define THREADS_MAX 64

extern char **environ;

static atomic_bool is_over;
static atomic_ulong calls, forks, spawned, births, signals;

NOINLINE uint64_t counted(uint64_t x)
{
	return x * 6364136223846793005ULL + 1442695040888963407ULL;
}

static void fail(const char *what)
{
	fprintf(stderr, "counted_storm: %s\n", what);
	abort();
}

static void on_signal(int number)
{
	(void)number;
	counted(1);
	signals++;
}

static void *live_briefly(void *bytes)
{
	void *own = malloc(100);

	memset(own, 1, 100);
	free(own);
	births++;
	return bytes;
}

static void bear(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, live_briefly, NULL) == 0)
		pthread_join(thread, NULL);
}

static void expect(pid_t pid, int wanted)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != wanted)
		fail("a child has ended otherwise than it should");
}

static void fork_one(void)
{
	uint64_t x = 1;
	pid_t pid = fork();

	if (pid == 0) {
		for (size_t i = 0; i < 100; i++) {
			free(malloc(i * 10));
			x = counted(x);
		}
		_exit(x ? 42 : 43);
	}
	if (pid > 0)
		expect(pid, 42);
	forks++;
}

static void spawn_one(void)
{
	char *arguments[] = {(char *)"/bin/true", NULL};
	pid_t pid;

	if (posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environ) == 0)
		expect(pid, 0);
	spawned++;
}

static void *allocate(void *former, uint64_t how, size_t nr)
{
	void *got = former;

	if (how % 6 == 0)
		return realloc(former, nr);
	free(former);
	switch (how % 6) {
	case 1:
		return calloc(1, nr);
	case 2:
		return memalign(64, nr);
	case 3:
		return posix_memalign(&got, 4096, nr) ? NULL : got;
	default:
		return malloc(nr);
	}
}

static void *work(void *number)
{
	unsigned char *kept[NR_KEPT] = {0};
	size_t lengths[NR_KEPT] = {0};
	uint64_t x = (uint64_t)(uintptr_t)number + 1, own_calls = 0;

	while (!is_over) {
		size_t k, nr;

		x = counted(x);
		own_calls++;
		k = (x >> 33) % NR_KEPT;
		nr = 1 + (x >> 40) % 3000;
		if (kept[k] && (kept[k][0] != k || kept[k][lengths[k] - 1] != k))
			fail("what was written is not there any more");
		kept[k] = allocate(kept[k], x >> 20, nr);
		memset(kept[k], (int)k, nr);
		lengths[k] = nr;
		if ((x >> 30 & 0x1fff) == 5)
			bear();
		if ((x >> 30 & 0xffff) == 6)
			fork_one();
		if ((x >> 30 & 0xffff) == 7)
			spawn_one();
	}
	for (size_t i = 0; i < NR_KEPT; i++)
		free(kept[i]);
	calls += own_calls;
	return NULL;
}

int main(int argc, char **argv)
{
	size_t nr = number_argument(argc, argv, 1, 4);
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	const struct itimerval every = {{0, 2000}, {0, 2000}};
	pthread_t threads[THREADS_MAX];

	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &every, NULL);
	for (size_t i = 0; i < nr && i < THREADS_MAX; i++)
		pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i);
	say_ready();
	while (getchar() != EOF)
		;
	is_over = true;
	for (size_t i = 0; i < nr && i < THREADS_MAX; i++)
		pthread_join(threads[i], NULL);
	printf("{\"calls\": %lu, \"forks\": %lu, \"spawned\": %lu, \"births\": %lu, "
	       "\"signals\": %lu}\n",
	       calls, forks, spawned, births, signals);
	return 0;
}

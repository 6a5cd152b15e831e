// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Knows the shares that a profiler should find, by the kernel's clocks and by counting, and prints
 * them as JSON: known_shares cpu|blocked|naps|memory|threads|brief MS, or known_shares lives MS
 * [PROGRAM ...], which are copies of it that live for a millisecond or three; each thread of
 * "threads" lives twice as long, of "brief" for 0.3 ms. Threads of other programs may be on its
 * CPU.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* --- CPU time --- */

static int64_t spent_a, spent_b, calls_a, calls_b;

static void spin(int64_t ns)
{
	int64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

__attribute__((noinline)) static void work_a(void)
{
	spin(100000);
	calls_a++;
}

__attribute__((noinline)) static void work_b(void)
{
	spin(300000);
	calls_b++;
}

/* For so much of its own time: on a busy machine it has little of another. */
static void compute(int64_t ns)
{
	int64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
		int64_t begun = now_ns(CLOCK_THREAD_CPUTIME_ID), between;

		work_a();
		between = now_ns(CLOCK_THREAD_CPUTIME_ID);
		work_b();
		spent_a += between - begun;
		spent_b += now_ns(CLOCK_THREAD_CPUTIME_ID) - between;
	}
	printf("{\"function\":\"work_a\",\"pct\":%f,\"per_call_ns\":%f}\n",
	       100.0 * (double)spent_a / (double)(spent_a + spent_b),
	       (double)spent_a / (double)calls_a);
}

/* --- time off the CPU, without that in which it waits for one --- */

static int schedstat;

static int64_t used_and_waited_ns(void)
{
	long used = 0, waited = 0;
	char text[100] = "";

	if (pread(schedstat, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%ld %ld", &used, &waited) != 2)
		exit(2);
	return used + waited;
}

static int64_t sleep_for(int64_t ns)
{
	struct timespec time = {.tv_nsec = ns};
	int64_t awake = used_and_waited_ns(), begun = now_ns(CLOCK_MONOTONIC);

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &time) == EINTR)
		;
	begun = now_ns(CLOCK_MONOTONIC) - begun;
	return begun - (used_and_waited_ns() - awake);
}

__attribute__((noinline)) static void nap_a(int nr, int64_t ns)
{
	for (int i = 0; i < nr; i++)
		spent_a += sleep_for(ns);
}

__attribute__((noinline)) static void nap_b(void)
{
	spent_b += sleep_for(2000000);
}

static void sleep_in_turns(int64_t end, int nr, int64_t ns)
{
	schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	while (now_ns(CLOCK_MONOTONIC) < end) {
		nap_a(nr, ns);
		nap_b();
	}
	printf("{\"function\":\"nap_a\",\"pct\":%f}\n",
	       100.0 * (double)spent_a / (double)(spent_a + spent_b));
}

/* --- processes that live for about a tick --- */

/* CPU time in each function, which all processes add to. */
struct spent {
	int64_t a, b;
};

__attribute__((noinline)) static void live_a(struct spent *spent, int64_t ns)
{
	int64_t begun = now_ns(CLOCK_THREAD_CPUTIME_ID);

	spin(ns);
	spent->a += now_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
}

__attribute__((noinline)) static void live_b(struct spent *spent, int64_t ns)
{
	int64_t begun = now_ns(CLOCK_THREAD_CPUTIME_ID);

	spin(ns);
	spent->b += now_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
}

static struct spent *map_spent(int fd)
{
	struct spent *spent = mmap(NULL, sizeof(*spent), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (spent == MAP_FAILED)
		exit(2);
	return spent;
}

/* A short life begins with a, and a long one with b. */
static void live(struct spent *spent, int number, int times)
{
	if (number % 2) {
		live_b(spent, times * 500000);
		live_a(spent, times * 2000000);
	} else {
		live_a(spent, times * 500000);
		live_b(spent, times * 300000);
	}
}

static int64_t ns_of(const struct rusage *usage)
{
	return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * INT64_C(1000000000) +
	       (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * INT64_C(1000);
}

/* Returns the CPU time of the process. */
static int64_t run_life(char *program, int fd, int number)
{
	char fd_text[16], number_text[16];
	char *arguments[] = {program, "life", fd_text, number_text, NULL};
	struct rusage usage;
	pid_t pid;

	snprintf(fd_text, sizeof(fd_text), "%d", fd);
	snprintf(number_text, sizeof(number_text), "%d", number);
	pid = vfork();
	if (pid == 0) {
		execv(program, arguments);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, NULL, 0, &usage) != pid)
		exit(2);
	return ns_of(&usage);
}

#define MOST_PROGRAMS 4

static void run_lives(int64_t ns, char **programs, int nr)
{
	int fd = memfd_create("spent", 0);
	int64_t of_program[MOST_PROGRAMS] = {0}, all = 0;
	struct spent *spent;

	if (fd < 0 || nr > MOST_PROGRAMS || ftruncate(fd, sizeof(*spent)))
		exit(2);
	spent = map_spent(fd);
	for (int i = 0; all < ns; i++) {
		int64_t used = run_life(programs[i % nr], fd, i);

		of_program[i % nr] += used;
		all += used;
	}
	all += now_ns(CLOCK_PROCESS_CPUTIME_ID);
	printf("{\"function\":\"live_a\",\"pct\":%f}\n", 100.0 * (double)spent->a / (double)all);
	printf("{\"function\":\"live_b\",\"pct\":%f}\n", 100.0 * (double)spent->b / (double)all);
	for (int i = 0; i < nr && nr > 1; i++)
		printf("{\"program\":\"%s\",\"cpu_ns\":%lld,\"all_ns\":%lld}\n",
		       strrchr(programs[i], '/') + 1, (long long)of_program[i], (long long)all);
}

/* --- threads that do --- */

struct thread_life {
	struct spent spent;
	int number;
};

static void *live_in_thread(void *of)
{
	struct thread_life *life = of;

	live(&life->spent, life->number, 2);
	return NULL;
}

static void run_threads(int64_t ns)
{
	struct thread_life life = {0};
	pthread_t thread;
	int64_t all;

	while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < ns) {
		if (pthread_create(&thread, NULL, live_in_thread, &life) ||
		    pthread_join(thread, NULL))
			exit(2);
		life.number++;
	}
	all = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	printf("{\"function\":\"live_a\",\"pct\":%f,\"all_ns\":%lld}\n",
	       100.0 * (double)life.spent.a / (double)all, (long long)all);
	printf("{\"function\":\"live_b\",\"pct\":%f,\"all_ns\":%lld}\n",
	       100.0 * (double)life.spent.b / (double)all, (long long)all);
}

/* --- threads that live for some stops, and do one thing first and then another --- */

__attribute__((noinline)) static void begin_life(struct spent *spent)
{
	int64_t begun = now_ns(CLOCK_THREAD_CPUTIME_ID);

	spin(180000);
	spent->a += now_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
}

__attribute__((noinline)) static void end_life(struct spent *spent)
{
	int64_t begun = now_ns(CLOCK_THREAD_CPUTIME_ID);

	spin(120000);
	spent->b += now_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
}

static void *live_briefly(void *spent)
{
	begin_life(spent);
	end_life(spent);
	return NULL;
}

static void run_brief(int64_t ns)
{
	struct spent spent = {0};
	pthread_t thread;
	int64_t all;

	while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < ns)
		if (pthread_create(&thread, NULL, live_briefly, &spent) ||
		    pthread_join(thread, NULL))
			exit(2);
	all = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	printf("{\"function\":\"begin_life\",\"pct\":%f}\n", 100.0 * (double)spent.a / (double)all);
	printf("{\"function\":\"end_life\",\"pct\":%f}\n", 100.0 * (double)spent.b / (double)all);
}

/* --- memory --- */

static void *volatile kept;

__attribute__((noinline)) static void make_large(void)
{
	kept = malloc(1 << 20);
}

__attribute__((noinline)) static void make_middle(void)
{
	kept = malloc(1 << 17);
}

__attribute__((noinline)) static void make_small(void)
{
	kept = malloc(3000);
}

static void allocate(void)
{
	for (int i = 0; i < 300; i++) {
		make_large();
		for (int k = 0; k < 3; k++)
			make_middle();
		for (int k = 0; k < 60; k++)
			make_small();
	}
	printf("{\"function\":\"make_large\",\"bytes\":%d}\n", 300 << 20);
	printf("{\"function\":\"make_middle\",\"bytes\":%d}\n", 900 << 17);
	printf("{\"function\":\"make_small\",\"bytes\":%d}\n", 300 * 60 * 3000);
}

/* To the last CPU that it may have. */
static void bind(void)
{
	cpu_set_t may, one;
	int last = 0;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(may), &may))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &may))
			last = cpu;
	CPU_SET(last, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

int main(int argc, char **argv)
{
	int64_t ns = (argc > 2 ? atoi(argv[2]) : 0) * INT64_C(1000000);
	int64_t end = now_ns(CLOCK_MONOTONIC) + ns;

	if (argc == 4 && strcmp(argv[1], "life") == 0) {
		live(map_spent(atoi(argv[2])), atoi(argv[3]), 1);
		return 0;
	}
	if (argc < 3)
		return 2;
	bind();
	if (strcmp(argv[1], "cpu") == 0)
		compute(ns);
	else if (strcmp(argv[1], "blocked") == 0)
		sleep_in_turns(end, 1, 500000);
	else if (strcmp(argv[1], "naps") == 0) /* no longer than the slack of timers */
		sleep_in_turns(end, 20, 1000);
	else if (strcmp(argv[1], "threads") == 0)
		run_threads(ns);
	else if (strcmp(argv[1], "brief") == 0)
		run_brief(ns);
	else if (strcmp(argv[1], "lives") == 0)
		run_lives(ns, argc > 3 ? argv + 3 : argv, argc > 3 ? argc - 3 : 1);
	else
		allocate();
	return 0;
}

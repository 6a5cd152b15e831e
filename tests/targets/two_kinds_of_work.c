// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * two_kinds_of_work [CPU_MS]: a thread that computes and one that has the kernel make and drop
 * pages, each for so much CPU time. Each prints {"name", "user_ns", "system_ns"} as getrusage(2) tells it, the
 * process too, and waits for its input to end if there is a second argument.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "self_measure.h"

static uint64_t cpu_ns;
/* At once: long enough for a stop to meet it there. */
#define PAGES_BYTES (8 << 20)


static uint64_t ns_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000 * MS + (uint64_t)time->tv_usec * 1000;
}

static void say(const char *name, int whose)
{
	struct rusage usage;

	getrusage(whose, &usage);
	printf("{\"name\": \"%s\", \"user_ns\": %llu, \"system_ns\": %llu}\n", name,
	       (unsigned long long)ns_of(&usage.ru_utime),
	       (unsigned long long)ns_of(&usage.ru_stime));
	fflush(stdout);
}

static void *compute(void *unused)
{
	struct rounds rounds = rounds_until(CLOCK_THREAD_CPUTIME_ID, cpu_ns);
	uint64_t x = 1;

	pthread_setname_np(pthread_self(), "computes");
	while (rounds_go_on(&rounds))
		for (int i = 0; i < 100000; i++)
			SPIN_STEP(x);
	say("computes", RUSAGE_THREAD);
	return (void *)(x == 0 ? unused : NULL);
}

static void *make_pages(void *unused)
{
	struct rounds rounds = rounds_until(CLOCK_THREAD_CPUTIME_ID, cpu_ns);

	pthread_setname_np(pthread_self(), "makes pages");
	while (rounds_go_on(&rounds)) {
		void *pages = mmap(NULL, PAGES_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (pages == MAP_FAILED || munmap(pages, PAGES_BYTES) != 0)
			abort();
	}
	say("makes pages", RUSAGE_THREAD);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	cpu_ns = number_argument(argc, argv, 1, 500) * MS;
	if (argc > 2) {
		printf("ready\n");
		fflush(stdout);
		if (getchar() < 0)
			return 1;
	}
	pthread_create(&threads[0], NULL, compute, NULL);
	pthread_create(&threads[1], NULL, make_pages, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	say("two_kinds_of_wo", RUSAGE_SELF);
	return 0;
}

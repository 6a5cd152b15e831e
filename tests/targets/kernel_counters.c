// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kernel_counters WHAT MS: makes the kernel's counters of threads advance.
 *
 *	phases	touch_many() meets new pages all the time, then touch_few() a third as many
 *	bursts	spin() works for 2 ms, then burst() meets 40 new pages in some microseconds
 *	hops	hop() moves the thread to another CPU and back, each time after 0.1 ms of work
 *	early	moves the thread MS times as main() begins, and ends
 *	threads	three threads write 1, 2 and 4 MB in writes of 4 KiB, and end before main() does
 *
 * Prints {"faults", "switches", "phases": {function: faults}}, by getrusage(2), "hops", and
 * "early_switches", which were before main(). Of bursts the time is that of the CPU.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "self_measure.h"

#define PAGE	  4096
#define NR_PAGES  1024
#define NR_BURST  40
#define NR_CHUNKS 256 /* of 4 KiB: 1 MiB */

static volatile uint64_t state = 1;

static void spin_steps(int nr)
{
	uint64_t x = state;

	while (nr--)
		SPIN_STEP(x);
	state = x;
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

static char *map_pages(size_t nr)
{
	void *at =
		mmap(NULL, nr * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

NOINLINE static void touch_many(uint64_t until_ns)
{
	while (monotonic_ns() < until_ns) {
		char *pages = map_pages(NR_PAGES);

		for (size_t i = 0; pages && i < NR_PAGES; i++)
			pages[i * PAGE] = 1;
		munmap(pages, NR_PAGES * PAGE);
	}
}

NOINLINE static void touch_few(uint64_t until_ns)
{
	while (monotonic_ns() < until_ns) {
		char *pages = map_pages(NR_PAGES);

		for (size_t i = 0; pages && i < NR_PAGES; i++) {
			pages[i * PAGE] = 1;
			spin_steps(2000);
		}
		munmap(pages, NR_PAGES * PAGE);
	}
}

NOINLINE static void spin(uint64_t until_ns)
{
	while (monotonic_ns() < until_ns)
		spin_steps(100);
}

NOINLINE static void burst(void)
{
	char *pages = map_pages(NR_BURST);

	for (size_t i = 0; pages && i < NR_BURST; i++)
		pages[i * PAGE] = 1;
	munmap(pages, NR_BURST * PAGE);
}

static long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

NOINLINE static void work_in_bursts(uint64_t until_ns)
{
	while (thread_cpu_ns() < until_ns) {
		spin(monotonic_ns() + 2 * MS);
		burst();
	}
}

/* False if it may use only one. */
static bool find_two_cpus(int *cpus)
{
	cpu_set_t allowed;
	int nr = 0;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE && nr < 2; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			cpus[nr++] = cpu;
	return nr == 2;
}

/* Returns how often it has changed CPUs: 0 or 1. */
static long move_to(int cpu)
{
	long hops = sched_getcpu() != cpu;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	return hops;
}

NOINLINE static long hop(uint64_t until_ns)
{
	int cpus[2];
	bool has_two = find_two_cpus(cpus);
	long hops = 0;

	for (int i = 0; has_two && monotonic_ns() < until_ns; i++) {
		hops += move_to(cpus[i % 2]);
		spin(monotonic_ns() + MS / 10);
	}
	return hops;
}

static long hop_times(uint64_t nr)
{
	int cpus[2];
	bool has_two = find_two_cpus(cpus);
	long hops = 0;

	for (uint64_t i = 0; has_two && i < nr; i++)
		hops += move_to(cpus[i % 2]);
	return hops;
}

static void *write_chunks(void *argument)
{
	static const char chunk[PAGE];
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	for (long i = 0; i < (long)argument * NR_CHUNKS; i++) {
		if (write(fd, chunk, sizeof(chunk)) != sizeof(chunk))
			break;
		usleep(500);
	}
	close(fd);
	usleep(200000); /* its last chunks are in a sample, or in the sum of the process */
	return NULL;
}

static void write_in_threads(void)
{
	pthread_t threads[3];

	for (long i = 0; i < 3; i++) {
		char name[16];

		pthread_create(&threads[i], NULL, write_chunks, (void *)(1L << i));
		snprintf(name, sizeof(name), "writes-%ld", 1L << i);
		pthread_setname_np(threads[i], name);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "phases";
	uint64_t ms = argc > 2 ? strtoull(argv[2], NULL, 10) : 500;
	long many = 0, few = 0, hops = 0, early_switches = switches();
	struct rusage usage;

	if (strcmp(what, "phases") == 0) {
		many = faults();
		touch_many(monotonic_ns() + ms * MS);
		few = faults();
		many = few - many;
		touch_few(monotonic_ns() + ms * MS);
		few = faults() - few;
	} else if (strcmp(what, "bursts") == 0) {
		work_in_bursts(thread_cpu_ns() + ms * MS);
	} else if (strcmp(what, "hops") == 0) {
		hops = hop(monotonic_ns() + ms * MS);
	} else if (strcmp(what, "early") == 0) {
		hops = hop_times(ms);
	} else {
		write_in_threads();
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("{\"faults\":%ld,\"switches\":%ld,\"phases\":{\"touch_many\":%ld,\"touch_few\":%ld},"
	       "\"hops\":%ld,\"early_switches\":%ld}\n",
	       usage.ru_minflt + usage.ru_majflt, usage.ru_nvcsw + usage.ru_nivcsw, many, few, hops,
	       early_switches);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * faults_in_functions [CPU_MS]: in turns of some 100 us writes to pages that are not there yet, word
 * by word and by one instruction that repeats; writes to the same pages again; and computes.
 * Prints {"name", "cpu_ns"} of each function, and {"name": "all", "system_ns", "faults"}.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "self_measure.h"

#define NR_PAGES   64
#define PAGE_BYTES 4096
#define NR_BYTES   (NR_PAGES * PAGE_BYTES)

struct part {
	const char *name;
	uint64_t cpu_ns;
};

NOINLINE static void store_first(char *at)
{
	for (size_t i = 0; i < NR_BYTES; i += sizeof(uint64_t))
		*(volatile uint64_t *)(at + i) = i;
}

NOINLINE static void store_again(char *at)
{
	for (size_t i = 0; i < NR_BYTES; i += sizeof(uint64_t))
		*(volatile uint64_t *)(at + i) = i;
}

static inline void fill(char *at)
{
#if defined(__x86_64__)
	size_t nr = NR_BYTES;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(nr) : "a"(1) : "memory");
#else
	memset(at, 1, NR_BYTES);
#endif
}

NOINLINE static void fill_first(char *at)
{
	fill(at);
	__asm__ volatile("");
}

NOINLINE static void fill_again(char *at)
{
	fill(at);
	__asm__ volatile("");
}

NOINLINE static uint64_t compute(void)
{
	uint64_t x = 1;

	for (int i = 0; i < 100000; i++)
		SPIN_STEP(x);
	return x;
}

static char *fresh_pages(void)
{
	char *at = mmap(NULL, NR_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || madvise(at, NR_BYTES, MADV_NOHUGEPAGE) != 0)
		abort();
	return at;
}

static void run(struct part *part, void (*work)(char *), char *at)
{
	uint64_t begin_ns = thread_cpu_ns();

	work(at);
	part->cpu_ns += thread_cpu_ns() - begin_ns;
}

static void turn(struct part *parts)
{
	char *at = fresh_pages();
	uint64_t begin_ns;

	run(&parts[0], store_first, at);
	run(&parts[1], store_again, at);
	munmap(at, NR_BYTES);
	at = fresh_pages();
	run(&parts[2], fill_first, at);
	for (int i = 0; i < 8; i++)
		run(&parts[3], fill_again, at);
	munmap(at, NR_BYTES);
	begin_ns = thread_cpu_ns();
	if (compute() == 0)
		abort();
	parts[4].cpu_ns += thread_cpu_ns() - begin_ns;
}

int main(int argc, char **argv)
{
	struct part parts[] = {
		{"store_first", 0}, {"store_again", 0}, {"fill_first", 0}, {"fill_again", 0}, {"compute", 0}};
	uint64_t cpu_ns = number_argument(argc, argv, 1, 1000) * MS;
	struct rusage usage;

	while (thread_cpu_ns() < cpu_ns)
		turn(parts);
	getrusage(RUSAGE_SELF, &usage);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		printf("{\"name\": \"%s\", \"cpu_ns\": %llu}\n", parts[i].name,
		       (unsigned long long)parts[i].cpu_ns);
	printf("{\"name\": \"all\", \"system_ns\": %llu, \"faults\": %ld}\n",
	       (unsigned long long)usage.ru_stime.tv_sec * 1000000000ULL +
		       (unsigned long long)usage.ru_stime.tv_usec * 1000,
	       usage.ru_minflt);
	return 0;
}

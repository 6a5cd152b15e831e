// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the ways to count a call add to it on this processor, in ns: the least of some rounds each.
 * `shared` loses counts of threads, `own` needs a copy for each thread, as profc has, and `rseq` is
 * a restartable sequence on a copy of the CPU (rseq(2)), where the C library has registered its area.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "self_measure.h"

#define CALLS  5000000
#define ROUNDS 30

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

#define PUBLIC __attribute__((used, visibility("hidden")))
#define ALIGNED PUBLIC __attribute__((aligned(4096)))

PUBLIC volatile uint64_t ways_sum;
ALIGNED uint64_t ways_counters[4096];
ALIGNED uint64_t ways_owners[4096];
PUBLIC uint64_t *ways_table = ways_owners;
PUBLIC uint64_t *ways_end = &ways_counters[2048];
PUBLIC ptrdiff_t ways_rseq;

#define LEAF(name, count)                                                                          \
	__attribute__((aligned(64))) NOINLINE static void name(uint64_t x)                         \
	{                                                                                          \
		__asm__ volatile(count : : : "memory", "cc");                                      \
		ways_sum += x;                                                                     \
	}

#define HASH(shift, mask)                                                                          \
	"mov %%fs:0,%%rax\n imul $0x9e3779b1,%%eax,%%eax\n shr $" #shift ",%%eax\n and $" #mask    \
	",%%eax\n"

LEAF(plain, "")
LEAF(shared, "incq ways_counters(%%rip)")
LEAF(locked, "lock incq ways_counters(%%rip)")
LEAF(locked_by_hash, "push %%rax\n" HASH(22, 0x3c0) "add ways_end(%%rip),%%rax\n"
						     "lock incq (%%rax)\n pop %%rax")
LEAF(own, "push %%rax\n" HASH(17, 0x7ff8) "add ways_table(%%rip),%%rax\n mov (%%rax),%%rax\n"
					   "add %%fs:0,%%rax\n cmp $-64,%%rax\n jb 1f\n"
					   "shl $7,%%rax\n add ways_end(%%rip),%%rax\n"
					   "incq (%%rax)\n 1: pop %%rax")
LEAF(of_cpu, "push %%rax\n push %%rdx\n mov ways_rseq(%%rip),%%rdx\n"
	     "4: lea 3f(%%rip),%%rax\n mov %%rax,%%fs:8(%%rdx)\n"
	     "1: mov %%fs:4(%%rdx),%%eax\n shl $7,%%rax\n add ways_end(%%rip),%%rax\n"
	     "incq (%%rax)\n"
	     "2: pop %%rdx\n pop %%rax\n"
	     ".pushsection .data.ways,\"aw\"\n .balign 32\n"
	     "3: .long 0,0\n .quad 1b,2b-1b,5f\n .popsection\n"
	     ".pushsection .text.ways,\"ax\"\n .long 0x53053053\n 5: jmp 4b\n .popsection")

static const struct way {
	const char *name;
	void (*call)(uint64_t);
} ways[] = {{"plain", plain},
	    {"shared", shared},
	    {"lock", locked},
	    {"lock_by_hash", locked_by_hash},
	    {"own", own},
	    {"rseq", of_cpu}};

#define NR_WAYS (sizeof(ways) / sizeof(*ways))

static double ns_of(const struct way *way)
{
	uint64_t began_ns = thread_cpu_ns();

	for (uint64_t i = 0; i < CALLS; i++)
		way->call(i);
	return (double)(thread_cpu_ns() - began_ns) / CALLS;
}

int main(void)
{
	double least[NR_WAYS];
	size_t nr = NR_WAYS;
	uint64_t word;

	__asm__("mov %%fs:0,%0" : "=r"(word));
	ways_owners[((uint32_t)word * 0x9e3779b1U >> 17 & 0x7ff8) / 8] = (uint64_t)-1 - word;
	if (&__rseq_size && __rseq_size)
		ways_rseq = __rseq_offset;
	else
		nr--;
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < nr; i++) {
			double ns = ns_of(&ways[i]);

			if (round == 0 || ns < least[i])
				least[i] = ns;
		}
	}
	printf("{\"plain\":%.2f", least[0]);
	for (size_t i = 1; i < nr; i++)
		printf(",\"%s\":%.2f", ways[i].name, least[i] - least[0]);
	printf("}\n");
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * copies_own_text HOW [CPU_MS]: has its own text stand in other memory at the same address, as
 * programs do that want it on huge pages, and works there. HOW is
 *
 *	all		the whole of it, in one mapping without a file
 *	tail		all but its first page, which stays the file's
 *	wait-all	as all; then says "ready" and works until its standard input is closed
 *	wait-tail	the same as tail
 *	patched		all of it, with one byte of a function changed that nobody calls
 *
 * Prints {"cpu_ns"}.
 */
#include <poll.h>
#include <string.h>
#include <sys/mman.h>

#include "self_measure.h"

#define PAGE 4096UL

NOINLINE uint64_t copied_leaf(uint64_t x)
{
	for (unsigned i = 0; i < 400000; i++)
		SPIN_STEP(x);
	return x;
}

NOINLINE uint64_t copied_middle(uint64_t x)
{
	return copied_leaf(x) + 1;
}

/* Larger than a page, so that the text has several. */
__attribute__((used, aligned(4096))) static void never_called(void)
{
	__asm__ volatile(".fill 12288, 1, 0x90");
}

/* Where the mapping of the text begins and ends. */
static void find_text(char **start, char **end)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512];

	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx r-xp", &from, &to) == 2 && from <= (uintptr_t)find_text &&
		    (uintptr_t)find_text < to)
			break;
	}
	fclose(maps);
	*start = (char *)from;
	*end = (char *)to;
}

static void copy_text(int keeps_head, int patches)
{
	char *start, *end, *copy;
	size_t nr;

	find_text(&start, &end);
	start += keeps_head ? PAGE : 0;
	nr = end - start;
	copy = mmap(NULL, nr, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		exit(2);
	memcpy(copy, start, nr);
	if (patches)
		copy[(char *)never_called + 8 - start] ^= 1;
	if (mprotect(copy, nr, PROT_READ | PROT_EXEC) ||
	    mremap(copy, nr, nr, MREMAP_MAYMOVE | MREMAP_FIXED, start) == MAP_FAILED)
		exit(2);
}

static int input_is_open(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&input, 1, 0) == 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "all";
	struct rounds rounds;
	uint64_t x = 1;

	copy_text(strstr(how, "tail") != NULL, !strcmp(how, "patched"));
	if (!strncmp(how, "wait", 4)) {
		puts("ready");
		fflush(stdout);
		while (input_is_open())
			x = copied_middle(x) + 1;
	} else {
		rounds = rounds_until(CLOCK_PROCESS_CPUTIME_ID,
				      number_argument(argc, argv, 2, 500) * MS);
		while (rounds_go_on(&rounds))
			x = copied_middle(x) + 1;
	}
	printf("{\"cpu_ns\": %llu, \"x\": %llu}\n", (unsigned long long)process_cpu_ns(),
	       (unsigned long long)(x & 1));
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calls_of_the_library [CPU_MS]: a program that works as most do: it sorts by a comparison of its
 * own, formats, allocates, matches, recurses, computes with libm, and has a second thread.
 */
#include <alloca.h>
#include <math.h>
#include <pthread.h>
#include <regex.h>
#include <string.h>

#include "self_measure.h"

#define NR_ITEMS 4096

static uint64_t limit_ns;
static volatile double total;

static int by_value(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return (a > b) - (a < b);
}

NOINLINE void sort_items(unsigned seed)
{
	double items[NR_ITEMS];

	for (int i = 0; i < NR_ITEMS; i++)
		items[i] = sin(i * 7.0 + seed);
	qsort(items, NR_ITEMS, sizeof(items[0]), by_value);
	total += items[0];
}

NOINLINE void format_items(unsigned seed)
{
	char text[128];

	for (unsigned i = 0; i < 1500; i++) {
		snprintf(text, sizeof(text), "%u: %.6f %s %#x", i, i / 3.0, "items", seed);
		total += strlen(text);
	}
}

NOINLINE void allocate_items(unsigned seed)
{
	void *blocks[256] = {NULL};

	for (unsigned i = 0; i < 20000; i++) {
		seed = seed * 1103515245 + 12345;
		free(blocks[seed >> 24]);
		blocks[seed >> 24] = malloc(16 + (seed >> 8) % 2000);
	}
	for (unsigned i = 0; i < 256; i++)
		free(blocks[i]);
}

NOINLINE void match_items(unsigned seed)
{
	char text[64];
	regex_t expression;

	if (regcomp(&expression, "([a-z]+)[0-9]*:(x|y)*$", REG_EXTENDED))
		return;
	for (unsigned i = 0; i < 300; i++) {
		snprintf(text, sizeof(text), "item%u:xyx%c", i + seed, i % 3 ? 'y' : 'z');
		total += regexec(&expression, text, 0, NULL, 0);
	}
	regfree(&expression);
}

NOINLINE unsigned recurse(unsigned n)
{
	return n < 2 ? n : recurse(n - 1) + recurse(n - 2);
}

NOINLINE double sum_of(const double *numbers, unsigned n)
{
	double sum = 0;

	for (unsigned i = 0; i < 4000; i++)
		sum += exp(-numbers[i % n]) + pow(i, .3);
	return sum;
}

/* As large as its argument says. */
NOINLINE void use_alloca(unsigned seed)
{
	unsigned n = 8 + seed % 100;
	double *numbers = alloca(n * sizeof(*numbers));

	for (unsigned i = 0; i < n; i++)
		numbers[i] = i;
	total += sum_of(numbers, n);
}

static void work(void)
{
	for (unsigned seed = 1; thread_cpu_ns() < limit_ns; seed++) {
		sort_items(seed);
		format_items(seed);
		allocate_items(seed);
		match_items(seed);
		total += recurse(20);
		use_alloca(seed);
	}
}

static void *thread_main(void *unused)
{
	work();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	limit_ns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 500) * MS;
	if (pthread_create(&thread, NULL, thread_main, NULL))
		return 1;
	work();
	pthread_join(thread, NULL);
	printf("{\"total\": %f}\n", total);
	return 0;
}

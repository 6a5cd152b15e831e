// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calls_by_line: a function that calls others directly, through the PLT and through a pointer, and
 * an inlined one whose calls are written elsewhere. Prints {"caller", "callee", "calls"} for each
 * call, and {"line", "calls"} for the line that it is written in.
 */
#include "own_counts.h"
#include "self_measure.h"

static volatile uint64_t line_sink;
static volatile int32_t numbers[4] = {3, 1, 2, 0};

COUNTED void callee_one(void)
{
	line_sink++;
}

COUNTED void callee_two(void)
{
	line_sink += 2;
	callee_one(); /* one of two */
}

/* Inlined into caller(), in two places. */
ALWAYS_INLINE void inlined(unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		callee_two(); /* two of inlined */
}

COUNTED int compare(const void *a, const void *b)
{
	callee_one(); /* one of compare */
	return *(const int32_t *)a - *(const int32_t *)b;
}

COUNTED void caller(void (*volatile pointed)(void))
{
	for (int i = 0; i < 1009; i++)
		callee_one(); /* one of caller */
	inlined(10);
	for (int i = 0; i < 31; i++)
		pointed(); /* unknown */
	inlined(7);
	for (int i = 0; i < 23; i++)
		line_sink += (uint64_t)getppid(); /* library */
}

static void say_edge(const char *caller_name, const char *callee, unsigned calls)
{
	printf("{\"caller\": \"%s\", \"callee\": \"%s\", \"calls\": %u}\n", caller_name, callee,
	       calls);
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		caller(callee_one);
	for (int i = 0; i < 5; i++)
		compare((const void *)&numbers[0], (const void *)&numbers[1]);
	say_edge("caller", "callee_one", 3 * 1009);
	say_edge("caller", "callee_two", 3 * 17);
	say_edge("caller", "getppid", 3 * 23);
	say_edge("callee_two", "callee_one", 3 * 17);
	say_edge("compare", "callee_one", 5);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * four_functions [CPU_MS]: four kinds of work in shares of about 40, 30, 20 and
 * 10 percent. Prints what each function used by the thread's CPU clock:
 * {"four_integer", "four_float", "four_memory", "four_division", "cpu_ns"}.
 */
#include "self_measure.h"

#define TABLE_SIZE 65536

static uint32_t table[TABLE_SIZE];

NOINLINE uint64_t four_integer(uint64_t x)
{
	for (unsigned i = 0; i < 2300000; i++)
		x = (x ^ (x >> 13)) * 0x9E3779B97F4A7C15ULL;
	return x;
}

NOINLINE uint64_t four_float(uint64_t seed)
{
	double x = 1.0 + (double)(seed & 7);

	for (unsigned i = 0; i < 480000; i++)
		x = x * 0.999999 + 1.0 / (x + 1.5);
	return (uint64_t)(x * 1000);
}

NOINLINE uint64_t four_memory(uint64_t x)
{
	uint32_t at = (uint32_t)x % TABLE_SIZE;

	for (unsigned i = 0; i < 262000; i++) {
		table[at] += i;
		at = (at * 5 + table[at] % 3 + 1) % TABLE_SIZE;
	}
	return x + at;
}

NOINLINE uint64_t four_division(uint64_t x)
{
	for (unsigned i = 0; i < 160000; i++)
		x = 0xFFFFFFFFFFFFFFF0ULL / ((x & 0xFFFF) + 3) + i;
	return x;
}

typedef uint64_t work_function(uint64_t x);

static uint64_t measured(work_function *work, uint64_t x, uint64_t *spent_ns)
{
	uint64_t before = thread_cpu_ns();

	x = work(x);
	*spent_ns += thread_cpu_ns() - before;
	return x;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"four_integer", "four_float", "four_memory",
					    "four_division"};
	work_function *const work[] = {four_integer, four_float, four_memory, four_division};
	uint64_t until_ns = number_argument(argc, argv, 1, 2000) * MS;
	uint64_t spent_ns[4] = {0};
	uint64_t x = 1;

	while (process_cpu_ns() < until_ns)
		for (int i = 0; i < 4; i++)
			x = measured(work[i], x, &spent_ns[i]);
	printf("{");
	for (int i = 0; i < 4; i++)
		printf("\"%s\": %llu, ", names[i], (unsigned long long)spent_ns[i]);
	printf("\"cpu_ns\": %llu, \"x\": %llu}\n", (unsigned long long)process_cpu_ns(),
	       (unsigned long long)(x & 1));
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * entered_by_table [CPU_MS]: main() calls, through a table, a function that never returns, as
 * programs with many faces do. It lets the C library do the work. For builds without CFI: then
 * nothing says how deep its frame is but the way from its entry, which only the table names.
 */
#include <string.h>

#include "self_measure.h"

static int compare(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

NOINLINE double table_work(double seed)
{
	double values[2000];

	for (int i = 0; i < 2000; i++)
		values[i] = (double)((i * 7919) % 2003) + seed;
	qsort(values, 2000, sizeof(values[0]), compare);
	return values[1000];
}

/* What is left in the text is no address of code. */
NOINLINE _Noreturn void work_and_exit(uint64_t limit_ns)
{
	char text[200] = "";
	double sum = 0;

	for (int i = 0; thread_cpu_ns() < limit_ns; i++) {
		sum += table_work(i);
		snprintf(text, sizeof(text), "%.20g %.20g %.20g", sum, sum / 3, sum * 3);
		sum += (double)strlen(text);
	}
	printf("{\"sum\": %g}\n", sum);
	exit(0);
}

NOINLINE _Noreturn void only_exit(uint64_t limit_ns)
{
	exit(limit_ns > 0);
}

typedef void face(uint64_t limit_ns);

static face *const faces[] = {only_exit, work_and_exit};

int main(int argc, char **argv)
{
	uint64_t limit_ns = (argc > 1 ? strtoull(argv[1], NULL, 10) : 500) * MS;

	faces[limit_ns > 0](limit_ns);
}

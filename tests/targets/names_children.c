// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * names_children MS: for as long, begins short children, each with a long command line of its own,
 * and computes meanwhile.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

#define NAME_BYTES   3000
#define NR_AT_ONCE   16
#define LIFE_US	     60000
#define COMPUTING_NS (10 * MS)

NOINLINE uint64_t compute_between(uint64_t until_ns)
{
	uint64_t x = 1;

	while (process_cpu_ns() < until_ns)
		for (unsigned i = 0; i < 10000; i++)
			SPIN_STEP(x);
	return x;
}

static void begin_child(unsigned number)
{
	char name[NAME_BYTES + 16];

	if (fork())
		return;
	memset(name, 'n', NAME_BYTES);
	snprintf(name + NAME_BYTES, sizeof(name) - NAME_BYTES, "%u", number);
	execl("/proc/self/exe", "child", "0", name, NULL);
	_exit(1);
}

int main(int argc, char **argv)
{
	uint64_t end_ns = monotonic_ns() + strtoull(argv[1], NULL, 10) * MS;
	unsigned number = 0;

	if (argc > 2)
		return usleep(LIFE_US);
	while (monotonic_ns() < end_ns) {
		for (int i = 0; i < NR_AT_ONCE; i++)
			begin_child(number++);
		compute_between(process_cpu_ns() + COMPUTING_NS);
		while (wait(NULL) > 0)
			continue;
	}
	return 0;
}

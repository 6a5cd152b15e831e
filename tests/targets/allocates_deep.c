// SPDX-License-Identifier: GPL-2.0-or-later
/* argv: how deep a function calls itself before it allocates, and how often; says the sums. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *volatile kept;

__attribute__((noinline)) static int descend(int depth)
{
	volatile char here[64];
	int sum;

	memset((void *)here, depth, sizeof(here));
	if (!depth) {
		kept = malloc(100);
		return kept == NULL;
	}
	sum = descend(depth - 1);
	return sum + here[3];
}

int main(int argc, char **argv)
{
	int depth = atoi(argv[1]), nr = atoi(argv[2]), sum = 0;

	(void)argc;
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < nr; i++)
		sum += descend(depth);
	printf("{\"pid\": 0, \"bytes\": %d, \"blocks\": %d, \"sum\": %d}\n", nr * 100, nr, sum);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * children_hold NR: holds 100 blocks of 1000 bytes, and forks NR children, each of which holds 10
 * blocks of 3000 bytes more. All of them live for some seconds.
 */
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline, noclone)) static void hold(int nr, size_t nr_bytes)
{
	for (int i = 0; i < nr; i++) {
		if (!malloc(nr_bytes))
			abort();
	}
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 1;

	hold(100, 1000);
	for (int i = 0; i < nr; i++) {
		if (fork() == 0) {
			hold(10, 3000);
			break;
		}
	}
	sleep(5);
	return 0;
}

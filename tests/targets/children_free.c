// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * children_free NR [namespace]: holds 2000 blocks of 1000 bytes, and forks so many children one
 * after another, each of which frees all of them, allocates 50 blocks of 3000 bytes, frees those
 * but 10, and ends at once. A single one can have a PID namespace of its own.
 */
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HELD = 2000, MADE = 50, LEFT = 10 };

static void *held[HELD], *made[MADE];

__attribute__((noinline, noclone)) static void holds(void)
{
	for (int i = 0; i < HELD; i++) {
		held[i] = malloc(1000);
		if (!held[i])
			abort();
	}
}

__attribute__((noinline, noclone)) static void leaves(void)
{
	for (int i = 0; i < HELD; i++)
		free(held[i]);
	for (int i = 0; i < MADE; i++) {
		made[i] = malloc(3000);
		if (!made[i])
			abort();
	}
	for (int i = LEFT; i < MADE; i++)
		free(made[i]);
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 1;

	holds();
	if (argc > 2 && unshare(CLONE_NEWPID) < 0)
		return 77;
	usleep(30000); /* so that a child is not found with its parent */
	for (int i = 0; i < nr; i++) {
		int status = 1;
		pid_t child = fork();

		if (child == 0) {
			leaves();
			_exit(0);
		}
		if (waitpid(child, &status, 0) != child || status)
			abort();
	}
	_exit(0);
}

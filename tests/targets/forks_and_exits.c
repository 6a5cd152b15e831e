// SPDX-License-Identifier: GPL-2.0-or-later
/* A process that forks so many children, one after the other, that end at once. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static void make_child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	long nr = argc > 1 ? atol(argv[1]) : 1;

	/* As the page tables of larger programs do, these make fork(2) take time. */
	volatile char *pages = malloc(64 << 20);

	for (size_t i = 0; pages && i < 64 << 20; i += 4096)
		pages[i] = 1;
	for (long i = 0; i < nr; i++)
		make_child();
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* A process that forks children of a fifth of a second, 1,000 a second, until its input ends. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned int calls;

__attribute__((noinline)) static void forks_often_work(void)
{
	calls++;
}

static void nap(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

int main(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	signal(SIGCHLD, SIG_IGN); /* nobody waits for them */
	puts("ready");
	fflush(stdout);
	while (poll(&input, 1, 1) == 0) {
		pid_t pid = fork();

		forks_often_work();
		if (pid == 0) {
			nap(200);
			forks_often_work();
			_exit(0);
		}
		if (pid < 0)
			nap(10);
	}
	return 0;
}

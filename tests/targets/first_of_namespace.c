// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * first_of_namespace SIGNAL [NR]: the first process of a PID namespace waits in epoll_wait, while a
 * child of it sends it the signal NR times (20), which it does not handle: the kernel drops that.
 * Prints {"first": whether it is the first, "waits", "eintr"}.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

int main(int argc, char **argv)
{
	int signal = (int)number_argument(argc, argv, 1, SIGTSTP);
	unsigned nr = (unsigned)number_argument(argc, argv, 2, 20);
	int epoll = epoll_create1(0);
	unsigned waits = 0, eintr = 0;
	struct epoll_event event;
	pid_t first = getpid();
	pid_t sender = fork();

	while (sender == 0 && nr--) {
		usleep(10000);
		kill(first, signal);
	}
	if (sender == 0)
		_exit(0);
	say_ready();
	while (waitpid(sender, NULL, WNOHANG) == 0) {
		eintr += epoll_wait(epoll, &event, 1, 100) < 0 && errno == EINTR;
		waits++;
	}
	printf("{\"first\": %s, \"waits\": %u, \"eintr\": %u}\n", first == 1 ? "true" : "false",
	       waits, eintr);
	return 0;
}

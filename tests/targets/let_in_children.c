// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * let_in_children MODE [NR]: NR waits (50) in epoll_pwait let in SIGCHLD, which nobody catches; a
 * child ends in each. MODE "of_other": the first thread waits, which does not block the signal, and
 * the children are those of a second thread, which does: their ends wait for it, and end the waits.
 * "of_own": the second thread waits, for children of its own, and does not block the signal, as the
 * first thread does: their ends are dropped. Begins once its standard input is closed, and prints
 * {"waits", "eintr"}.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "let_in_wait.h"
#include "self_measure.h"

#define ENDLESS_MS 300 /* to a wait that is ended by a signal */
#define SHORT_MS   20
#define INTO_US	   (SHORT_MS * 1000 / 2)

static unsigned nr_waits;

static pid_t child_that_ends_after(useconds_t us)
{
	pid_t pid = fork();

	if (pid == 0) {
		usleep(us);
		_exit(0);
	}
	return pid;
}

static void block_sigchld(bool is_blocked)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	pthread_sigmask(is_blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* A child for each wait of the first thread. */
static void *make_children(void *argument)
{
	(void)argument;
	block_sigchld(true);
	for (unsigned i = 1; i <= nr_waits; i++) {
		while (atomic_load(&nr_begun) < i)
			usleep(100);
		waitpid(child_that_ends_after(INTO_US), NULL, 0);
		while (atomic_load(&nr_ended) < i)
			usleep(100);
	}
	return NULL;
}

static void *wait_for_own(void *argument)
{
	(void)argument;
	block_sigchld(false);
	for (unsigned i = 0; i < nr_waits; i++) {
		pid_t pid = child_that_ends_after(INTO_US);

		wait_for(SHORT_MS);
		waitpid(pid, NULL, 0);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	bool is_own = argc > 1 && strcmp(argv[1], "of_own") == 0;
	pthread_t second;

	nr_waits = (unsigned)number_argument(argc, argv, 2, 50);
	epoll = epoll_create1(0);
	block_sigchld(is_own);
	say_ready();
	wait_for_end();
	pthread_create(&second, NULL, is_own ? wait_for_own : make_children, NULL);
	for (unsigned i = 0; !is_own && i < nr_waits; i++)
		wait_for(ENDLESS_MS);
	pthread_join(second, NULL);
	printf("{\"waits\": %u, \"eintr\": %u}\n", atomic_load(&nr_ended), nr_eintr);
	return 0;
}

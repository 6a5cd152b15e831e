// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asks_beside_signals [MS]: threads in sigtimedwait(2), again and again, while a child sends their
 * process thousands of SIGWINCH a second, which nobody catches: untraced, nobody is told of them.
 * After MS prints {"waits", "eintr", "early"}.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

#define TIMEOUT_MS 3
#define NR_THREADS 2

static atomic_ulong waits, eintr, early;
static atomic_bool ends;

static void *ask_on(void *unused)
{
	const struct timespec timeout = {.tv_nsec = TIMEOUT_MS * MS};
	sigset_t set;

	(void)unused;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	while (!atomic_load(&ends)) {
		uint64_t begun_ns = monotonic_ns();
		bool is_broken_off = sigtimedwait(&set, NULL, &timeout) < 0 && errno == EINTR;

		atomic_fetch_add(&waits, 1);
		atomic_fetch_add(&eintr, is_broken_off);
		atomic_fetch_add(&early,
				 !is_broken_off && monotonic_ns() - begun_ns < TIMEOUT_MS * MS);
	}
	return NULL;
}

static void signal_on(pid_t to)
{
	while (getppid() == to) {
		kill(to, SIGWINCH);
		usleep(100);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	uint64_t length_ms = number_argument(argc, argv, 1, 2000);
	pthread_t threads[NR_THREADS];
	pid_t self = getpid(), sender;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sender = fork();
	if (sender == 0)
		signal_on(self);
	for (int i = 0; i < NR_THREADS; i++)
		if (sender < 0 || pthread_create(&threads[i], NULL, ask_on, NULL))
			return 2;
	say_ready();
	usleep((useconds_t)(length_ms * 1000));
	atomic_store(&ends, true);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	kill(sender, SIGKILL);
	waitpid(sender, NULL, 0);
	printf("{\"waits\": %lu, \"eintr\": %lu, \"early\": %lu}\n", atomic_load(&waits),
	       atomic_load(&eintr), atomic_load(&early));
	return 0;
}

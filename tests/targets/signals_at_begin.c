// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * signals_at_begin [MS]: one wait with a timeout after the other, and as soon as each second one
 * has begun, a signal that nobody catches: while the call still looks at its many files, which it
 * does before it sleeps. Prints {"waits", "early", "wrong"}: of the waits, those that ended before
 * their time, and those with another result than that of a timeout.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "self_measure.h"

#define TIMEOUT_MS 20
#define NR_FILES   40

/* Which the kernel cannot write back what is left to: see ppoll(2). */
static const struct timespec timeout = {.tv_nsec = TIMEOUT_MS * MS};
static struct pollfd files[NR_FILES];
static atomic_bool begins, ends;

static void use_cpu(int cpu)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET(cpu, &only);
	sched_setaffinity(0, sizeof(only), &only);
}

/* On a CPU of its own, if there is one, as it is to be quick; on the only one it comes late. */
static void *send(void *waiter)
{
	use_cpu(0);
	while (!atomic_load(&ends)) {
		if (atomic_exchange(&begins, false))
			pthread_kill(*(pthread_t *)waiter, SIGWINCH);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t length_ms = number_argument(argc, argv, 1, 2000);
	uint64_t end_ns = monotonic_ns() + length_ms * MS;
	unsigned long waits = 0, early = 0, wrong = 0;
	pthread_t waiter = pthread_self(), sender;

	for (size_t i = 0; i < NR_FILES; i++)
		files[i] = (struct pollfd){.fd = eventfd(0, 0), .events = POLLIN};
	if (pthread_create(&sender, NULL, send, &waiter))
		return 2;
	use_cpu(1);
	say_ready();
	while (monotonic_ns() < end_ns) {
		uint64_t begun_ns = monotonic_ns();
		long result;

		atomic_store(&begins, waits % 2);
		result = syscall(SYS_ppoll, files, NR_FILES, &timeout, NULL, 0);
		waits++;
		early += monotonic_ns() - begun_ns < TIMEOUT_MS * MS;
		wrong += result != 0;
	}
	atomic_store(&ends, true);
	pthread_join(sender, NULL);
	printf("{\"waits\": %lu, \"early\": %lu, \"wrong\": %lu}\n", waits, early, wrong);
	return 0;
}

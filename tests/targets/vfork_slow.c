// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vfork_slow [MS]: over and over, six times at least, a vfork whose child keeps
 * its parent waiting for 50 ms, unstoppable, while a second thread works in
 * beside_vfork().
 * Prints {"vforks", "cpu_ns"}.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

static atomic_int ended;

NOINLINE static void *beside_vfork(void *unused)
{
	uint64_t x = 1;

	(void)unused;
	while (!atomic_load(&ended))
		for (unsigned i = 0; i < 100000; i++)
			SPIN_STEP(x);
	return (void *)(uintptr_t)(x & 1);
}

int main(int argc, char **argv)
{
	uint64_t end_ns = monotonic_ns() + number_argument(argc, argv, 1, 1000) * MS;
	const struct timespec held = {.tv_nsec = 50000000};
	unsigned vforks = 0;
	pthread_t beside;

	pthread_create(&beside, NULL, beside_vfork, NULL);
	while (monotonic_ns() < end_ns || vforks < 6) {
		pid_t pid = vfork();
		int status;

		if (pid == 0) {
			nanosleep(&held, NULL);
			_exit(3);
		}
		if (waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
		    WEXITSTATUS(status) == 3)
			vforks++;
	}
	atomic_store(&ended, 1);
	pthread_join(beside, NULL);
	printf("{\"vforks\": %u, \"cpu_ns\": %llu}\n", vforks,
	       (unsigned long long)process_cpu_ns());
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs in a process of its own what may never end. */
#include "base/errand.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/minmax.h"

/* Most answers come at once. */
#define FIRST_PAUSE_NS (20 * NS_PER_US)
#define PAUSE_NS_MAX   (2 * NS_PER_MS)
/* So long a child that can be killed takes to die. */
#define DEATH_NS (20 * NS_PER_MS)

static bool has_ended(pid_t child, uint64_t patience_ns, int *status)
{
	uint64_t begun_ns = clock_monotonic_ns();
	uint64_t pause_ns = FIRST_PAUSE_NS;

	for (;;) {
		if (waitpid(child, status, WNOHANG | __WALL) == child)
			return true;
		if (clock_monotonic_ns() - begun_ns >= patience_ns)
			return false;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = (long)pause_ns},
				NULL);
		pause_ns = min_u64(2 * pause_ns, PAUSE_NS_MAX);
	}
}

bool errand_run(bool (*run)(void *context), void *context, const int *fds, size_t nr_fds,
		uint64_t patience_ns)
{
	sigset_t all, former;
	int status;
	pid_t child;

	/* Our handlers are not to run in the child. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &former);
	/* No signal tells of its end: so it passes for no orphan of the command
	 * (roster/discovery.c). */
	child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close_all_but(fds, nr_fds);
		_exit(!run(context));
	}
	pthread_sigmask(SIG_SETMASK, &former, NULL);
	if (child < 0)
		return false;
	if (has_ended(child, patience_ns, &status))
		return WIFEXITED(status) && WEXITSTATUS(status) == 0;
	kill(child, SIGKILL);
	has_ended(child, DEATH_NS, &status);
	return false;
}

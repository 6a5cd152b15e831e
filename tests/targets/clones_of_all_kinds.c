// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * clones_of_all_kinds: children that are neither plain forks nor threads, each spinning for
 * 100 ms: in the parent's memory (CLONE_VM), without a signal at its end, hidden from tracers
 * (CLONE_UNTRACED), and a grandchild that is its grandparent's child (CLONE_PARENT). Prints
 * {"name", "waited", "status"} of each: whether it could be waited for, and what it exited with.
 */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

#define STACK_BYTES (64 * 1024)

static char stacks[2][STACK_BYTES] __attribute__((aligned(16)));

NOINLINE static int spin_and_exit(void *status)
{
	uint64_t until_ns = thread_cpu_ns() + 100 * MS, x = 1;

	while (thread_cpu_ns() < until_ns)
		for (unsigned i = 0; i < 20000; i++)
			SPIN_STEP(x);
	return *(int *)status + (x == 0);
}

static pid_t start(int (*body)(void *), char *stack, int flags, int *status)
{
	return clone(body, stack + STACK_BYTES, flags, status);
}

static void say(const char *name, pid_t pid)
{
	int status = 0;
	int waited = pid > 0 && waitpid(pid, &status, __WALL) == pid && WIFEXITED(status);

	printf("{\"name\": \"%s\", \"waited\": %d, \"status\": %d}\n", name, waited,
	       WEXITSTATUS(status));
	fflush(stdout);
}

/* Its id goes to the one that shall wait for it as an exit status cannot: by memory. */
static volatile pid_t *sibling;

static int start_sibling(void *status)
{
	*sibling = start(spin_and_exit, stacks[1], CLONE_PARENT | SIGCHLD, status);
	return 3;
}

int main(void)
{
	static pid_t shared;
	int status = 5;

	say_ready();
	say("vm", start(spin_and_exit, stacks[0], CLONE_VM | SIGCHLD, &status));
	say("no_signal", start(spin_and_exit, stacks[0], 0, &status));
	say("untraced", start(spin_and_exit, stacks[0], CLONE_UNTRACED | SIGCHLD, &status));
	sibling = &shared;
	say("middle", start(start_sibling, stacks[0], CLONE_VM | SIGCHLD, &status));
	say("sibling", shared);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * trial_ends ROUNDS: asks so many times whether a child may be traced, and seizes it at once.
 * Prints how many times the kernel refused that, as it does while somebody else traces the child.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "tracee/permission.h"

static int refused(pid_t child)
{
	int nr = 0, status;

	while (ptrace(PTRACE_SEIZE, child, NULL, NULL) < 0) {
		nr = 1;
		usleep(100);
	}
	ptrace(PTRACE_INTERRUPT, child, NULL, NULL);
	waitpid(child, &status, __WALL);
	ptrace(PTRACE_DETACH, child, NULL, NULL);
	return nr;
}

int main(int argc, char **argv)
{
	int nr_rounds = argc > 1 ? atoi(argv[1]) : 0, nr_refused = 0;
	struct err err = ERR_INIT;
	pid_t child = fork(), tgid;

	if (child == 0) {
		pause();
		_exit(0);
	}
	for (int i = 0; i < nr_rounds; i++) {
		if (permission_to_trace(child, &tgid, &err) < 0) {
			fprintf(stderr, "trial_ends: %s\n", err.what);
			break;
		}
		nr_refused += refused(child);
	}
	kill(child, SIGKILL);
	printf("%d\n", nr_refused);
	return err.what[0] != '\0';
}

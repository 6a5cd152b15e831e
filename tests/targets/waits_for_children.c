// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * waits_for_children [COUNT]: starts COUNT children one after the other and waits for each.
 * A child holds the end of a pipe, which its exit closes before anybody can wait for it. Prints
 * {"children", "status_sum"}; child I exits with I modulo 7.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

int main(int argc, char **argv)
{
	unsigned nr = (unsigned)number_argument(argc, argv, 1, 200);
	unsigned long status_sum = 0;

	for (unsigned i = 0; i < nr; i++) {
		int ends[2], status;
		char byte;
		pid_t pid;

		if (pipe(ends))
			return 2;
		pid = fork();
		if (pid == 0)
			_exit((int)(i % 7));
		close(ends[1]);
		if (read(ends[0], &byte, 1) != 0)
			return 2;
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
			return 2;
		status_sum += (unsigned long)WEXITSTATUS(status);
		close(ends[0]);
	}
	printf("{\"children\": %u, \"status_sum\": %lu}\n", nr, status_sum);
	return 0;
}

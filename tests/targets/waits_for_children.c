// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * waits_for_children [COUNT]: starts COUNT children one after the other and waits for each.
 * A child holds the end of a pipe, which its exit closes before anybody can wait for it: from
 * there on the parent measures how long waitpid() takes. Prints {"children", "status_sum",
 * "median_late_ns"}; child I exits with I modulo 7.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self_measure.h"

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	unsigned nr = (unsigned)number_argument(argc, argv, 1, 200);
	uint64_t *late_ns = calloc(nr, sizeof(*late_ns));
	unsigned long status_sum = 0;

	for (unsigned i = 0; i < nr; i++) {
		int ends[2], status;
		uint64_t closed_ns;
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
		closed_ns = monotonic_ns();
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
			return 2;
		late_ns[i] = monotonic_ns() - closed_ns;
		status_sum += (unsigned long)WEXITSTATUS(status);
		close(ends[0]);
	}
	qsort(late_ns, nr, sizeof(*late_ns), compare);
	printf("{\"children\": %u, \"status_sum\": %lu, \"median_late_ns\": %llu}\n", nr,
	       status_sum, (unsigned long long)late_ns[nr / 2]);
	free(late_ns);
	return 0;
}

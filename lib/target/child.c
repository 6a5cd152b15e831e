// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/child.h"

#include <errno.h>
#include <sys/wait.h>

int child_reap(pid_t pid, int *status)
{
	pid_t got;

	do {
		got = waitpid(pid, status, 0);
	} while (got < 0 && errno == EINTR);
	return got == pid ? 0 : -1;
}

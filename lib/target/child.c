// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/child.h"

#include <errno.h>
#include <stddef.h>
#include <sys/wait.h>

void child_signals_take_over(const sigset_t *ours, struct child_signals *former)
{
	struct sigaction of_children;

	former->ignores_children =
		sigaction(SIGCHLD, NULL, &of_children) == 0 && of_children.sa_handler == SIG_IGN;
	if (former->ignores_children)
		signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, ours, &former->mask);
}

int child_reap(pid_t pid, int *status)
{
	pid_t got;

	do {
		got = waitpid(pid, status, 0);
	} while (got < 0 && errno == EINTR);
	return got == pid ? 0 : -1;
}

/* What is only looked at can be told once more. */
int child_stop_signal(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};

	if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | WNOWAIT) < 0)
		return 0;
	return info.si_pid == pid ? info.si_status : 0;
}

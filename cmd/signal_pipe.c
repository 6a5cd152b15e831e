// SPDX-License-Identifier: GPL-2.0-or-later
/* Signals that profc gets while it records. */
#include "cmd/signal_pipe.h"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

void signal_pipe_open(struct signal_pipe *pipe, const sigset_t *signals)
{
	pipe->fd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

void stop_this_process(void)
{
	sigset_t set, former;

	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	raise(SIGTSTP);
	pthread_sigmask(SIG_UNBLOCK, &set, &former); /* here it stops */
	pthread_sigmask(SIG_SETMASK, &former, NULL);
}

void signal_pipe_close(struct signal_pipe *pipe)
{
	if (pipe->fd >= 0)
		close(pipe->fd);
	pipe->fd = -1;
}

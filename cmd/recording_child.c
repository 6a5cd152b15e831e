// SPDX-License-Identifier: GPL-2.0-or-later
/* The command that is recorded, as a child of profc. */
#include "cmd/recording_child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cmd/signal_pipe.h"
#include "tracee/launch.h"

int recording_child_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

bool recording_child_has_ended(int pidfd)
{
	struct pollfd fd = {.fd = pidfd, .events = POLLIN};

	return pidfd >= 0 && poll(&fd, 1, 0) == 1;
}

/* Returns how many were read. From the terminal the command has got them, too. */
static unsigned int pass_on_signals(pid_t pid, int signal_fd)
{
	struct signalfd_siginfo info;
	unsigned int nr = 0;

	while (read(signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGTSTP) {
			stop_this_process();
			continue;
		}
		nr++;
		if (info.ssi_code != SI_KERNEL)
			kill(pid, (int)info.ssi_signo);
	}
	return nr;
}

/* How often orphans are reaped, as while it is recorded. */
#define REAP_MS 100

void recording_child_wait(pid_t pid, int signal_fd, int *status)
{
	cleanup_close int pidfd = recording_child_open(pid);
	struct pollfd fds[] = {
		{.fd = signal_fd, .events = POLLIN},
		{.fd = pidfd, .events = POLLIN},
	};
	unsigned int nr_signals = 0;

	while (pidfd >= 0 && !(fds[1].revents & POLLIN)) {
		if (poll(fds, ARRAY_SIZE(fds), REAP_MS) < 0 && errno != EINTR)
			break;
		launch_reap_orphans(pid);
		nr_signals += pass_on_signals(pid, signal_fd);
		if (nr_signals > 1) {
			*status = SIGINT;
			return;
		}
	}
	child_reap(pid, status);
}

void recording_child_die_alike(int signal_nr)
{
	sigset_t set;

	prctl(PR_SET_DUMPABLE, 0); /* a core, if any, is the command's */
	signal(signal_nr, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, signal_nr);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	kill(getpid(), signal_nr);
}

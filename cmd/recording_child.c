// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/recording_child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cmd/job_control.h"
#include "target/child.h"

void recording_child_signal(pid_t pid, int signal)
{
	kill(pid, signal);
}

/* Returns how many were read. */
static unsigned int pass_on_signals(pid_t pid, int signal_fd)
{
	struct signalfd_siginfo info;
	unsigned int nr = 0;

	while (read(signal_fd, &info, sizeof(info)) == sizeof(info)) {
		nr++;
		if (info.ssi_code != SI_KERNEL)
			recording_child_signal(pid, (int)info.ssi_signo);
	}
	return nr;
}

/* Readable when SIGCHLD pends, as one may from before; -1: stops are not heard of. */
static int open_child_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void stop_with(struct job_control *job_control, pid_t pid, int child_fd)
{
	const struct job_command command = {.pid = pid};
	struct signalfd_siginfo info;

	while (read(child_fd, &info, sizeof(info)) == sizeof(info))
		continue;
	job_control_follow(job_control, &command);
}

static void stop_as_asked(struct job_control *job_control, pid_t pid)
{
	const struct job_command command = {.pid = pid};
	int signal = job_control_read(job_control);

	if (signal)
		job_control_pass_on(job_control, &command, signal);
}

/* Returns false when it is not to be waited for any longer. */
static bool wait_for_end(pid_t pid, int signal_fd, struct job_control *job_control)
{
	cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	cleanup_close int child_fd = open_child_signals();
	struct pollfd fds[] = {
		{.fd = signal_fd, .events = POLLIN},
		{.fd = pidfd, .events = POLLIN},
		{.fd = child_fd, .events = POLLIN},
		{.fd = job_control->signals.fd, .events = POLLIN},
	};
	unsigned int nr_signals = 0;

	while (pidfd >= 0 && !(fds[1].revents & POLLIN)) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			break;
		nr_signals += pass_on_signals(pid, signal_fd);
		if (nr_signals > 1)
			return false;
		if (fds[3].revents & POLLIN)
			stop_as_asked(job_control, pid);
		if (fds[2].revents & POLLIN)
			stop_with(job_control, pid, child_fd);
	}
	return true;
}

void recording_child_wait(pid_t pid, int signal_fd, struct job_control *job_control, int *status)
{
	bool is_over;

	job_control_begin(job_control);
	/* It may have stopped by now, unheard. */
	stop_with(job_control, pid, -1);
	is_over = wait_for_end(pid, signal_fd, job_control);
	job_control_end(job_control);
	if (is_over)
		child_reap(pid, status);
	else
		*status = SIGINT;
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

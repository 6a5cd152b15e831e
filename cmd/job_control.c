// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/job_control.h"

#include <stdbool.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/command.h"
#include "proc/read.h"
#include "proc/task.h"

/*
 * A thread that is held for a look is stopped as one that job control has stopped is, but
 * for microseconds: whoever is found so a few times in a row stands.
 */
#define POLL_NS	      (10 * NS_PER_MS)
#define STANDS	      3
#define LONGEST_POLLS 100

void job_control_begin(struct job_control *control)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTSTP);
	sigaddset(&signals, SIGTTIN);
	sigaddset(&signals, SIGTTOU);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal_pipe_open(&control->signals, &signals);
}

void job_control_end(struct job_control *control)
{
	if (control->signals.fd < 0)
		return;
	signal_pipe_close(&control->signals);
	sigprocmask(SIG_UNBLOCK, &control->signals.signals, NULL);
}

static bool is_stopped(pid_t pid)
{
	struct proc_stat stat;

	return proc_read_task_stat(pid, pid, &stat) && (stat.state == 't' || stat.state == 'T');
}

/* What we have sent ourselves in vain, too, which only this thread can take. */
static void drain(const struct job_control *control)
{
	const struct timespec no_time = {0};
	struct signalfd_siginfo info;

	while (sigtimedwait(&control->signals.signals, NULL, &no_time) > 0)
		continue;
	while (read(control->signals.fd, &info, sizeof(info)) == sizeof(info))
		continue;
}

/*
 * Send ourselves the signal, still blocked, as soon as the command is first seen to stand:
 * should the shell continue both from then on, the kernel takes it back.
 */
static bool stops_after(pid_t command, int signal)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};

	for (int polls = 0, stopped = 0; polls < LONGEST_POLLS; polls++) {
		stopped = is_stopped(command) ? stopped + 1 : 0;
		if (stopped == 1)
			raise(signal);
		if (stopped == STANDS)
			return true;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
	return false;
}

/* By the very signal that was taken over, which the kernel ignores where no shell could help. */
static void stop_after(const struct job_control *control, pid_t command, int signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	if (stops_after(command, signal)) {
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		sigprocmask(SIG_BLOCK, &set, NULL);
	}
	drain(control);
}

void job_control_read(struct job_control *control, pid_t command)
{
	struct signalfd_siginfo info;

	if (read(control->signals.fd, &info, sizeof(info)) != sizeof(info))
		return;
	drain(control);
	if (command)
		stop_after(control, command, (int)info.ssi_signo);
	else
		print_note("not stopped: what is recorded would stand still; Ctrl-C ends it");
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/job_control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cmd/command.h"
#include "proc/read.h"
#include "sampler/sampler.h"
#include "target/child.h"

/*
 * A stop that is over before it was found to stand so often is none to tell of: who stops and
 * continues a program all the time, to slow it down, would have to wait for us each time.
 */
#define POLL_NS (10 * NS_PER_MS)
#define STANDS	3

/* A command that is sent the same signal prepares for its stop meanwhile, or has stopped. */
#define PASS_ON_TRIES 20

/* How often the watcher looks whether the command was continued: ever more rarely. */
#define WATCH_MS	 10
#define LONGEST_WATCH_MS 200

/* SIGCONT is to pend, so that we see that it has come. */
static void mask(int how, const struct job_control *control)
{
	sigset_t set = control->signals.signals;

	sigaddset(&set, SIGCONT);
	sigprocmask(how, &set, NULL);
}

void job_control_begin(struct job_control *control)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTSTP);
	sigaddset(&signals, SIGTTIN);
	sigaddset(&signals, SIGTTOU);
	control->signals.signals = signals;
	mask(SIG_BLOCK, control);
	signal_pipe_open(&control->signals, &signals);
}

void job_control_end(struct job_control *control)
{
	if (control->signals.fd < 0)
		return;
	signal_pipe_close(&control->signals);
	mask(SIG_UNBLOCK, control);
}

/* Returns the last signal that came from kill(2), or 0. */
static int drain(const struct job_control *control)
{
	struct signalfd_siginfo info;
	int signal = 0;

	while (read(control->signals.fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_code != SI_KERNEL && info.ssi_pid != (uint32_t)getpid())
			signal = (int)info.ssi_signo;
	}
	return signal;
}

int job_control_read(const struct job_control *control)
{
	return drain(control);
}

/*
 * Is there a shell that may be told? Without one nobody could continue us who does not know of us,
 * and nothing is to be gained.
 */
static bool is_watched(void)
{
	cleanup_close int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
	pid_t parent = getppid();

	return terminal >= 0 || (getsid(parent) == getsid(0) && getpgid(parent) != getpgrp());
}

static bool is_continued(pid_t command)
{
	struct proc_status status;
	uint64_t bit = UINT64_C(1) << (SIGCONT - 1);

	return !proc_read_status(command, &status) ||
	       (status.pending_process | status.pending_thread) & bit;
}

/* One that nobody traces has not run since, if that is the same stop. */
static struct command_stop stop_of_child(pid_t pid)
{
	cleanup_close int schedstat_fd = proc_open_task_file(pid, pid, "schedstat");
	struct proc_schedstat clocks = {.pcount = 0};

	if (schedstat_fd >= 0)
		(void)proc_read_schedstat(schedstat_fd, &clocks);
	return (struct command_stop){.signal = child_stop_signal(pid), .nr = clocks.pcount};
}

static struct command_stop stop_of(const struct job_command *command)
{
	return command->sampler ? sampler_command_stop(command->sampler)
				: stop_of_child(command->pid);
}

/* In this order: see sampler_command_stop(). */
static bool is_in_stop(const struct job_command *command, const struct command_stop *stop)
{
	struct command_stop now;

	if (is_continued(command->pid))
		return false;
	now = stop_of(command);
	return now.signal && now.nr == stop->nr;
}

static bool stands(const struct job_command *command, const struct command_stop *stop)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};

	for (int i = 0; i < STANDS; i++) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		if (!is_in_stop(command, stop))
			return false;
	}
	return true;
}

/*
 * While profc is stopped nobody of it sees that somebody else has continued the command, which
 * waits for profc then. So another process does; forked from one with threads, it may call no more
 * than a signal handler.
 */
struct watcher {
	pid_t pid;
	int alive_fd; /* closed by us, or with us, it ends */
};

static _Noreturn void watch(pid_t profc, int alive_fd, int schedstat_fd, uint64_t pcount)
{
	struct pollfd alive = {.fd = alive_fd, .events = POLLIN};
	int pause_ms = WATCH_MS;

	for (;;) {
		struct proc_schedstat clocks;
		int nr = poll(&alive, 1, pause_ms);

		if (nr > 0 || (nr < 0 && errno != EINTR))
			_exit(0);
		if (pause_ms < LONGEST_WATCH_MS)
			pause_ms++;
		if (!proc_read_schedstat(schedstat_fd, &clocks) || clocks.pcount != pcount)
			kill(profc, SIGCONT);
	}
}

/* The command stands now, or whoever continued it since is seen to have done so. */
static bool start_watcher(struct watcher *watcher, pid_t command)
{
	cleanup_close int schedstat_fd = proc_open_task_file(command, command, "schedstat");
	struct proc_schedstat clocks;
	pid_t profc = getpid();
	int ends[2];

	if (schedstat_fd < 0 || !proc_read_schedstat(schedstat_fd, &clocks) ||
	    pipe2(ends, O_CLOEXEC) < 0)
		return false;
	watcher->pid = fork();
	if (watcher->pid == 0) {
		close(ends[1]);
		watch(profc, ends[0], schedstat_fd, clocks.pcount);
	}
	close(ends[0]);
	watcher->alive_fd = ends[1];
	if (watcher->pid < 0)
		close(ends[1]);
	return watcher->pid > 0;
}

static void end_watcher(const struct watcher *watcher)
{
	int status;

	close(watcher->alive_fd);
	child_reap(watcher->pid, &status);
}

/*
 * Says whether we were continued: where no shell could do that, the kernel does not stop us. The
 * signal takes back a SIGCONT that came before it.
 */
static bool stop_by(const struct job_control *control, int signal_nr)
{
	const struct sigaction by_default = {.sa_handler = SIG_DFL};
	const struct timespec no_time = {0};
	struct sigaction former;
	sigset_t set;

	if (control->prepare)
		control->prepare(control->context);
	sigemptyset(&set);
	sigaddset(&set, signal_nr);
	sigaction(signal_nr, &by_default, &former); /* not that of SIGSTOP, which needs it not */
	raise(signal_nr);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (signal_nr != SIGSTOP)
		sigaction(signal_nr, &former, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCONT);
	return sigtimedwait(&set, NULL, &no_time) == SIGCONT;
}

/*
 * What was sent to the whole job has reached the command, or does so in a moment. One that catches
 * the signal need not show that it did, and shall not have it twice.
 */
static bool has_got(const struct job_command *command, int signal)
{
	uint64_t bit = UINT64_C(1) << (signal - 1);
	struct proc_status status;

	if (stop_of(command).signal || !proc_read_status(command->pid, &status))
		return true;
	return (status.pending_process | status.pending_thread | status.caught) & bit;
}

void job_control_stop(struct job_control *control, int signal)
{
	stop_by(control, signal);
	drain(control);
}

void job_control_pass_on(struct job_control *control, const struct job_command *command, int signal)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};

	control->is_asked = true;
	for (int i = 0; i < PASS_ON_TRIES; i++) {
		if (has_got(command, signal))
			return;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
	kill(command->pid, signal);
}

/* Who continued profc alone, which is what the shell knows, meant the command. */
static void continue_command(const struct job_command *command, const struct command_stop *stop)
{
	if (stands(command, stop))
		kill(command->pid, SIGCONT);
}

void job_control_follow(struct job_control *control, const struct job_command *command)
{
	struct command_stop stop = stop_of(command);
	bool is_asked = control->is_asked;
	struct watcher watcher;
	bool is_watched_over, was_continued;

	control->is_asked = false;
	if (!stop.signal || !(is_asked || is_watched()) || !stands(command, &stop))
		return;
	if (command->sampler)
		sampler_stand_by(command->sampler);
	is_watched_over = start_watcher(&watcher, command->pid);
	was_continued = is_in_stop(command, &stop) && stop_by(control, stop.signal);
	if (is_watched_over)
		end_watcher(&watcher);
	drain(control);
	if (command->sampler)
		sampler_go_on(command->sampler);
	if (was_continued)
		continue_command(command, &stop);
}

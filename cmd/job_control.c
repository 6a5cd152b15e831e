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

static void drain(const struct job_control *control)
{
	struct signalfd_siginfo info;

	while (read(control->signals.fd, &info, sizeof(info)) == sizeof(info))
		continue;
}

void job_control_read(const struct job_control *control, bool has_command)
{
	drain(control);
	if (!has_command)
		print_note("not stopped: what is recorded would stand still; Ctrl-C ends it");
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

/* In this order: see sampler_command_stop(). */
static bool is_in_stop(const struct sampler *sampler, const struct command_stop *stop)
{
	struct command_stop now;

	if (is_continued(sampler_command_pid(sampler)))
		return false;
	now = sampler_command_stop(sampler);
	return now.signal && now.nr == stop->nr;
}

static bool stands(const struct sampler *sampler, const struct command_stop *stop)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};

	for (int i = 0; i < STANDS; i++) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		if (!is_in_stop(sampler, stop))
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
static bool stop_by(int signal_nr)
{
	const struct sigaction by_default = {.sa_handler = SIG_DFL};
	const struct timespec no_time = {0};
	struct sigaction former;
	sigset_t set;

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

/* Who continued profc alone, which is what the shell knows, meant the command. */
static void continue_command(const struct sampler *sampler, const struct command_stop *stop)
{
	if (stands(sampler, stop))
		kill(sampler_command_pid(sampler), SIGCONT);
}

void job_control_follow(const struct job_control *control, struct sampler *sampler)
{
	struct command_stop stop;
	struct watcher watcher;
	bool is_watched_over, was_continued;
	uint64_t count;

	/* Before the stop itself is: one that comes in between is told of once more. */
	if (read(sampler_command_stop_fd(sampler), &count, sizeof(count)) < 0)
		return;
	stop = sampler_command_stop(sampler);
	if (!stop.signal || !is_watched() || !stands(sampler, &stop))
		return;
	sampler_stand_by(sampler);
	is_watched_over = start_watcher(&watcher, sampler_command_pid(sampler));
	was_continued = is_in_stop(sampler, &stop) && stop_by(stop.signal);
	if (is_watched_over)
		end_watcher(&watcher);
	drain(control);
	sampler_go_on(sampler);
	if (was_continued)
		continue_command(sampler, &stop);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/signal_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)64 * 1024)

/*
 * To this thread alone: that it is asked for something. No real-time signal, which may not be
 * queued (RLIMIT_SIGPENDING); and one that, sent to the process, is ignored by the others.
 */
#define CALL_SIGNAL SIGURG

/* Of a thread that does nothing else: only a flood of signals, which fills the pipe, takes it. */
#define LONGEST_SETTLING_S 5

static bool asks_for_end(int signal)
{
	return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

/* Returns false when nobody reads any more. */
static bool pass_on_one(struct signal_pipe *pipe, int signal, const siginfo_t *info)
{
	struct signalfd_siginfo out = {.ssi_signo = (uint32_t)signal,
				       .ssi_code = info->si_code,
				       .ssi_pid = (uint32_t)info->si_pid};

	if (asks_for_end(signal))
		atomic_store_explicit(&pipe->end_asked, true, memory_order_relaxed);
	return write(pipe->write_fd, &out, sizeof(out)) == sizeof(out);
}

/* A call is taken before the signals to the whole process, even those that came before it. */
static bool pass_on_pending(struct signal_pipe *pipe)
{
	const struct timespec no_time = {0};
	siginfo_t info;
	int signal;

	while ((signal = sigtimedwait(&pipe->signals, &info, &no_time)) > 0) {
		if (!pass_on_one(pipe, signal, &info))
			return false;
	}
	return true;
}

/* Anybody may send that signal, too. Returns whether the thread is to go on. */
static bool answer_call(struct signal_pipe *pipe)
{
	bool called = atomic_exchange(&pipe->called, false); /* what was sent before pends by now */

	if (atomic_load(&pipe->closing) || !pass_on_pending(pipe))
		return false;
	if (called)
		sem_post(&pipe->settled);
	return true;
}

static void *pass_on(void *argument)
{
	struct signal_pipe *pipe = argument;
	sigset_t signals = pipe->signals;
	bool goes_on = true;

	sigaddset(&signals, CALL_SIGNAL);
	while (goes_on) {
		siginfo_t info;
		int signal = sigwaitinfo(&signals, &info);

		if (signal == CALL_SIGNAL)
			goes_on = answer_call(pipe);
		else if (signal > 0) /* else EINTR: we were stopped and continued */
			goes_on = pass_on_one(pipe, signal, &info);
	}
	return NULL;
}

/* It may be told to end before it has run: that signal has to be blocked from the start. */
static bool start_thread(struct signal_pipe *pipe)
{
	pthread_attr_t attributes;
	sigset_t all;
	sigset_t former;

	sem_init(&pipe->settled, 0, 0);
	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_sigmask(SIG_BLOCK, &all, &former);
	pipe->has_thread = pthread_create(&pipe->thread, &attributes, pass_on, pipe) == 0;
	pthread_sigmask(SIG_SETMASK, &former, NULL);
	pthread_attr_destroy(&attributes);
	if (!pipe->has_thread)
		sem_destroy(&pipe->settled);
	return pipe->has_thread;
}

static void close_ends(struct signal_pipe *pipe)
{
	if (pipe->fd >= 0)
		close(pipe->fd);
	if (pipe->write_fd >= 0)
		close(pipe->write_fd);
	pipe->fd = pipe->write_fd = -1;
}

void signal_pipe_open(struct signal_pipe *pipe, const sigset_t *signals)
{
	int ends[2];

	*pipe = (struct signal_pipe)SIGNAL_PIPE_NONE;
	pipe->signals = *signals;
	if (pipe2(ends, O_CLOEXEC) == 0) {
		pipe->fd = ends[0];
		pipe->write_fd = ends[1];
		if (fcntl(pipe->fd, F_SETFL, O_NONBLOCK) == 0 && start_thread(pipe))
			return;
		close_ends(pipe);
	}
	pipe->fd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

void signal_pipe_settle(struct signal_pipe *pipe)
{
	struct timespec deadline;

	if (!pipe->has_thread)
		return;
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += LONGEST_SETTLING_S;
	atomic_store(&pipe->called, true);
	pthread_kill(pipe->thread, CALL_SIGNAL);
	while (sem_timedwait(&pipe->settled, &deadline) < 0 && errno == EINTR)
		continue;
}

bool signal_pipe_asks_for_end(int fd)
{
	struct signalfd_siginfo info;
	bool asks = false;

	while (read(fd, &info, sizeof(info)) == sizeof(info))
		asks |= asks_for_end((int)info.ssi_signo);
	return asks;
}

void signal_pipe_close(struct signal_pipe *pipe)
{
	struct signalfd_siginfo info;

	if (pipe->has_thread) {
		atomic_store(&pipe->closing, true);
		pthread_kill(pipe->thread, CALL_SIGNAL);
		pthread_join(pipe->thread, NULL);
		sem_destroy(&pipe->settled);
		while (read(pipe->fd, &info, sizeof(info)) == sizeof(info))
			raise((int)info.ssi_signo);
	}
	pipe->has_thread = false;
	close_ends(pipe);
}

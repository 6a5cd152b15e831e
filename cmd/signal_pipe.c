// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/signal_pipe.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)64 * 1024)

/*
 * To this thread alone: that it is over. No real-time signal, which may not be queued
 * (RLIMIT_SIGPENDING); and one that, sent to the process, is ignored by the others.
 */
#define LAST_SIGNAL SIGURG

static bool asks_for_end(int signal)
{
	return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

static void *pass_on(void *argument)
{
	struct signal_pipe *pipe = argument;
	sigset_t signals = pipe->signals;
	siginfo_t info;

	sigaddset(&signals, LAST_SIGNAL);
	for (;;) {
		struct signalfd_siginfo out = {0};
		int signal = sigwaitinfo(&signals, &info);

		if (signal < 0)
			continue; /* EINTR: we were stopped and continued */
		if (signal == LAST_SIGNAL)
			return NULL;
		if (asks_for_end(signal))
			atomic_store_explicit(&pipe->end_asked, true, memory_order_relaxed);
		out.ssi_signo = (uint32_t)signal;
		out.ssi_code = info.si_code;
		if (write(pipe->write_fd, &out, sizeof(out)) != sizeof(out))
			return NULL; /* nobody reads any more */
	}
}

/* It may be told to end before it has run: that signal has to be blocked from the start. */
static bool start_thread(struct signal_pipe *pipe)
{
	pthread_attr_t attributes;
	sigset_t all;
	sigset_t former;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_sigmask(SIG_BLOCK, &all, &former);
	pipe->has_thread = pthread_create(&pipe->thread, &attributes, pass_on, pipe) == 0;
	pthread_sigmask(SIG_SETMASK, &former, NULL);
	pthread_attr_destroy(&attributes);
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

void signal_pipe_close(struct signal_pipe *pipe)
{
	struct signalfd_siginfo info;

	if (pipe->has_thread) {
		pthread_kill(pipe->thread, LAST_SIGNAL);
		pthread_join(pipe->thread, NULL);
		while (read(pipe->fd, &info, sizeof(info)) == sizeof(info))
			raise((int)info.ssi_signo);
	}
	pipe->has_thread = false;
	close_ends(pipe);
}

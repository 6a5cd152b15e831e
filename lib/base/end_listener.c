// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread that reads signals while other threads work. */
#include "base/end_listener.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"

static void take(struct end_listener *listener)
{
	struct signalfd_siginfo info;

	while (read(listener->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGTSTP) {
			listener->stop();
			continue;
		}
		if (!atomic_load(&listener->asked))
			listener->info = info;
		atomic_store(&listener->asked, true);
		eventfd_write(listener->asked_fd, 1);
	}
}

static void *listen_for_end(void *argument)
{
	struct end_listener *listener = argument;
	struct pollfd fds[] = {
		{.fd = listener->signal_fd, .events = POLLIN},
		{.fd = listener->done_fd, .events = POLLIN},
	};

	do {
		take(listener);
	} while (poll(fds, ARRAY_SIZE(fds), -1) > 0 && !fds[1].revents);
	return NULL;
}

void end_listener_start(struct end_listener *listener, void (*stop)(void))
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGQUIT);
	if (stop)
		sigaddset(&signals, SIGTSTP);
	listener->stop = stop;
	atomic_store(&listener->asked, false);
	listener->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	listener->done_fd = eventfd(0, EFD_CLOEXEC);
	listener->asked_fd = eventfd(0, EFD_CLOEXEC);
	if (listener->signal_fd >= 0 && listener->done_fd >= 0 && listener->asked_fd >= 0 &&
	    pthread_create(&listener->thread, NULL, listen_for_end, listener) == 0)
		return;
	if (listener->asked_fd >= 0)
		close(listener->asked_fd);
	listener->asked_fd = -1;
}

bool end_listener_stop(struct end_listener *listener)
{
	if (listener->asked_fd < 0)
		return false;
	eventfd_write(listener->done_fd, 1);
	pthread_join(listener->thread, NULL);
	close(listener->signal_fd);
	close(listener->done_fd);
	close(listener->asked_fd);
	listener->asked_fd = -1;
	return atomic_load(&listener->asked);
}

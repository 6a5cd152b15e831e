/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_END_LISTENER_H
#define PROFC_BASE_END_LISTENER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/signalfd.h>

/* Receives signals that request the end while a thread does work that may take long. */
struct end_listener {
	atomic_bool asked;	      /* a signal has come: the work polls this */
	int asked_fd;		      /* readable from then on; -1: not listening */
	struct signalfd_siginfo info; /* of the first signal; read it after end_listener_stop() */
	int signal_fd, done_fd;	      /* private, as are the next two */
	void (*stop)(void);
	pthread_t thread;
};

/*
 * Listen to SIGINT, SIGTERM, SIGHUP and SIGQUIT, blocked in all threads; and to SIGTSTP, for which
 * a thread of the listener's calls `stop`, unless it is NULL. Never fails: at worst no signal is
 * received.
 */
void end_listener_start(struct end_listener *listener, void (*stop)(void));
/* Has a signal come? `asked` stays as it is until the next start. Does nothing without one. */
bool end_listener_stop(struct end_listener *listener);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_END_LISTENER_H
#define PROFC_BASE_END_LISTENER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/signalfd.h>

/* Hears signals that ask for the end while a thread is at work that may take long. */
struct end_listener {
	atomic_bool asked;	      /* whether one has come: for that work to look at */
	int asked_fd;		      /* readable from then on; -1: it does not listen */
	struct signalfd_siginfo info; /* of the first; read it once it has stopped */
	int signal_fd, done_fd;	      /* private, as are the next two */
	void (*stop)(void);
	pthread_t thread;
};

/*
 * SIGINT, SIGTERM, SIGHUP and SIGQUIT, blocked in all threads; and SIGTSTP, for which `stop` is
 * called, by a thread of the listener's, unless it is NULL. Never fails: at worst they are not
 * heard.
 */
void end_listener_start(struct end_listener *listener, void (*stop)(void));
/* Has one come? `asked` stays as it is until the next start. Does nothing without one. */
bool end_listener_stop(struct end_listener *listener);

#endif

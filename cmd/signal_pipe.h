/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_SIGNAL_PIPE_H
#define PROFC_CMD_SIGNAL_PIPE_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/*
 * Signals that can be read, as from signalfd(2) and in its form. But who waits for one of those is
 * woken by every signal that the process gets, wanted or not (signalfd_notify() in
 * kernel/signal.c): while a target is stopped a thousand times a second that is as many SIGCHLD,
 * and each wake-up takes a CPU from somebody. Here a thread waits in sigwaitinfo(2), which is
 * woken for its own only.
 */
struct signal_pipe {
	int fd; /* to read struct signalfd_siginfo from, without waiting; -1: none */
	int write_fd;
	pthread_t thread;
	bool has_thread;
	/* One that asks for our end has come, read or not; never set where there is no thread. */
	atomic_bool end_asked;
	atomic_bool closing;
	atomic_bool called; /* signal_pipe_settle() waits for an answer */
	sem_t settled;	    /* only where there is a thread */
	sigset_t signals;
};

#define SIGNAL_PIPE_NONE                                                                           \
	{                                                                                          \
		.fd = -1, .write_fd = -1                                                           \
	}

/*
 * The signals have to be blocked in all threads. The struct must stay where it is until it is
 * closed. Never fails: where no thread is to be had, it is a signalfd.
 */
void signal_pipe_open(struct signal_pipe *pipe, const sigset_t *signals);
/*
 * Every signal that was sent before this call can be read after it. Without it, what follows from
 * a signal may be seen before the signal: Ctrl-C ends a command, and profc's thread comes later.
 * Waits for that thread, seconds at most. Not from two threads at a time.
 */
void signal_pipe_settle(struct signal_pipe *pipe);
/* Reads all that has come; whether some of it asks for our end. Of a signalfd, too. */
bool signal_pipe_asks_for_end(int fd);
/* What has not been read pends again, as if it came now. */
void signal_pipe_close(struct signal_pipe *pipe);

#endif

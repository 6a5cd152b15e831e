// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/seizer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "target/machine.h"

/* A seizure takes microseconds; one that lasts longer than this waits for somebody. */
#define PATIENCE_NS (2 * NS_PER_MS)

/*
 * To one thread alone. Sent to the process meanwhile, any thread that does not block it runs the
 * handler, which steps over nothing unless that one seizes, and its poll(2) fails with EINTR; and
 * one that waits for it (sigwaitinfo(2)) may get it. At other times all ignore it.
 */
#define SEIZER_SIGNAL SIGURG

struct seizer {
	pthread_t tracer, watcher;
	bool is_watched;
	struct sigaction former_action;
	sigset_t former_mask;
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t changed;
	bool ends;
	uint64_t seizing_since_ns; /* 0: no seizure is going on */
};

static void step_over_seizure(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	machine_step_over_call(context, SYS_ptrace, PTRACE_SEIZE);
}

static void wait_shortly(struct seizer *seizer)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)PATIENCE_NS;
	if (until.tv_nsec >= (long)NS_PER_SEC) {
		until.tv_sec++;
		until.tv_nsec -= (long)NS_PER_SEC;
	}
	pthread_cond_timedwait(&seizer->changed, &seizer->lock, &until);
}

/* More than once, if need be: a signal that comes before the call is there for nothing. */
static void *watch(void *argument)
{
	struct seizer *seizer = argument;

	pthread_mutex_lock(&seizer->lock);
	while (!seizer->ends) {
		wait_shortly(seizer);
		if (seizer->seizing_since_ns &&
		    clock_monotonic_ns() - seizer->seizing_since_ns >= PATIENCE_NS)
			pthread_kill(seizer->tracer, SEIZER_SIGNAL);
	}
	pthread_mutex_unlock(&seizer->lock);
	return NULL;
}

static void init_lock(struct seizer *seizer)
{
	pthread_condattr_t clock;

	pthread_mutex_init(&seizer->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&seizer->changed, &clock);
	pthread_condattr_destroy(&clock);
}

static void take_signal(struct seizer *seizer)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
	sigset_t signals;

	action.sa_sigaction = step_over_seizure;
	sigaction(SEIZER_SIGNAL, &action, &seizer->former_action);
	sigemptyset(&signals);
	sigaddset(&signals, SEIZER_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &signals, &seizer->former_mask);
}

struct seizer *seizer_start(void)
{
	struct seizer *seizer = xcalloc(1, sizeof(*seizer));

	seizer->tracer = pthread_self();
	init_lock(seizer);
	seizer->is_watched = pthread_create(&seizer->watcher, NULL, watch, seizer) == 0;
	take_signal(seizer);
	return seizer;
}

void seizer_end(struct seizer *seizer)
{
	pthread_mutex_lock(&seizer->lock);
	seizer->ends = true;
	pthread_cond_signal(&seizer->changed);
	pthread_mutex_unlock(&seizer->lock);
	if (seizer->is_watched)
		pthread_join(seizer->watcher, NULL);
	pthread_sigmask(SIG_SETMASK, &seizer->former_mask, NULL);
	sigaction(SEIZER_SIGNAL, &seizer->former_action, NULL);
	pthread_cond_destroy(&seizer->changed);
	pthread_mutex_destroy(&seizer->lock);
	free(seizer);
}

static void set_seizing(struct seizer *seizer, uint64_t since_ns)
{
	pthread_mutex_lock(&seizer->lock);
	seizer->seizing_since_ns = since_ns;
	pthread_mutex_unlock(&seizer->lock);
}

int seizer_seize(struct seizer *seizer, pid_t tid, uintptr_t options)
{
	int reason;

	set_seizing(seizer, clock_monotonic_ns());
	reason = ptrace(PTRACE_SEIZE, tid, NULL, options) < 0 ? errno : 0;
	set_seizing(seizer, 0);
	return reason;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGETS_LET_IN_WAIT_H
#define PROFC_TARGETS_LET_IN_WAIT_H

/* Waits in epoll_pwait that let all signals in, and how many of them failed for one. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>

static int epoll;
static unsigned nr_eintr;
static atomic_uint nr_begun, nr_ended;

static void wait_for(int ms)
{
	struct epoll_event event;
	sigset_t none;

	sigemptyset(&none);
	atomic_fetch_add(&nr_begun, 1);
	nr_eintr += epoll_pwait(epoll, &event, 1, ms, &none) < 0 && errno == EINTR;
	atomic_fetch_add(&nr_ended, 1);
}

#endif

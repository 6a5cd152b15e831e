/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_END_TIMER_H
#define PROFC_BASE_END_TIMER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Bounds how long work goes on once a user has asked for the end: what can be left out is left out
 * when that time is over, and all of it when the user asks again.
 */
struct end_timer {
	atomic_bool hurried;   /* the time is over */
	atomic_bool ended;     /* the user has asked again */
	int asked_fd, done_fd; /* private, as are the next */
	uint64_t time_ns, begun_ns, waited_ns;
	bool is_asked, has_thread;
	pthread_t thread;
};

/*
 * `asked_fd`, of a struct end_listener, becomes readable with each signal; those that have come
 * before are taken out of it, and `is_asked` says whether there was one. Of the time that passes
 * does not count what threads of this process wait for a CPU, up to some seconds. Without a thread
 * to watch it, the time of a user who has asked is over at once.
 */
void end_timer_start(struct end_timer *timer, int asked_fd, bool is_asked, uint64_t time_ns);
void end_timer_stop(struct end_timer *timer);

#endif

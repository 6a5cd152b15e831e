/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_END_TIMER_H
#define PROFC_BASE_END_TIMER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Limits how long work continues after the user asked for its end: the work skips its optional
 * parts when that time is over, and stops when the user asks again.
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
 * before are taken out of it, and `is_asked` says whether there was one. Time that threads of this
 * process wait for a CPU does not count, up to some seconds. If no thread can watch the time, it is
 * over at once when the user has asked before.
 */
void end_timer_start(struct end_timer *timer, int asked_fd, bool is_asked, uint64_t time_ns);
void end_timer_stop(struct end_timer *timer);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/process_clock.h"

#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid /* missing in glibc before 2.38 */
#endif

/* A century of CPU time. */
#define NEVER_S (INT64_C(100) * 365 * 24 * 3600)

void process_clock_keep(struct process_clock *clock, pid_t pid)
{
	const struct itimerspec never = {.it_value.tv_sec = (time_t)NEVER_S};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
				 .sigev_signo = SIGRTMIN,
				 .sigev_value.sival_int = -1};
	clockid_t id;

	if (clock->was_tried)
		return;
	clock->was_tried = true;
	event.sigev_notify_thread_id = gettid();
	if (clock_getcpuclockid(pid, &id) != 0 || timer_create(id, &event, &clock->timer) < 0)
		return;
	clock->is_kept = timer_settime(clock->timer, TIMER_ABSTIME, &never, NULL) == 0;
	if (!clock->is_kept)
		timer_delete(clock->timer);
}

void process_clock_release(struct process_clock *clock)
{
	if (clock->is_kept)
		timer_delete(clock->timer);
	clock->is_kept = false;
}

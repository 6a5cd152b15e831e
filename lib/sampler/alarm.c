// SPDX-License-Identifier: GPL-2.0-or-later
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "sampler/sampler_priv.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid /* of glibc before 2.38 */
#endif

static int alarm_signal(void)
{
	return SIGRTMIN;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_SEC),
				 .tv_nsec = (long)(ns % NS_PER_SEC)};
}

void alarm_open(struct alarm *alarm)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = alarm_signal()};

	*alarm = (struct alarm){0};
	event.sigev_notify_thread_id = gettid();
	sigemptyset(&alarm->signals);
	sigaddset(&alarm->signals, SIGCHLD);
	sigaddset(&alarm->signals, alarm_signal());
	pthread_sigmask(SIG_BLOCK, &alarm->signals, NULL);
	alarm->is_open = timer_create(CLOCK_MONOTONIC, &event, &alarm->timer) == 0;
}

void alarm_close(struct alarm *alarm)
{
	if (alarm->is_open)
		timer_delete(alarm->timer);
	alarm->is_open = false;
}

/* The timer is the CPU's on which it is set, and wakes a thread on another one late. */
void alarm_set(struct alarm *alarm, uint64_t at_ns)
{
	struct itimerspec when = {.it_value = timespec_of(at_ns)};
	int cpu = sched_getcpu();

	if (!alarm->is_open || (alarm->at_ns && alarm->at_ns <= at_ns && alarm->cpu == cpu))
		return;
	timer_settime(alarm->timer, TIMER_ABSTIME, &when, NULL);
	alarm->at_ns = at_ns;
	alarm->cpu = cpu;
}

/* Where signals may not be queued, there is no timer (RLIMIT_SIGPENDING). */
static int wait_without_timer(const struct alarm *alarm, uint64_t left_ns, siginfo_t *info)
{
	const struct timespec timeout = timespec_of(left_ns);

	return sigtimedwait(&alarm->signals, info, &timeout);
}

pid_t alarm_wait(struct alarm *alarm, uint64_t until_ns)
{
	uint64_t now_ns = until_ns ? clock_monotonic_ns() : 0;
	siginfo_t info;
	int signal;

	if (until_ns <= now_ns) {
		signal = wait_without_timer(alarm, 0, &info);
	} else if (!alarm->is_open) {
		signal = wait_without_timer(alarm, until_ns - now_ns, &info);
	} else {
		alarm_set(alarm, until_ns);
		signal = sigwaitinfo(&alarm->signals, &info);
	}
	if (signal == alarm_signal())
		alarm->at_ns = 0;
	if (signal != SIGCHLD)
		return 0;
	/* Where signals may not be queued, they have no more than a number. */
	return info.si_code == SI_USER && !info.si_pid ? ALARM_NAMELESS : info.si_pid;
}

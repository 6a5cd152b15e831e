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

static bool create_timer(struct alarm_timer *timer, int index)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
				 .sigev_signo = alarm_signal(),
				 .sigev_value.sival_int = index};

	event.sigev_notify_thread_id = gettid();
	return timer_create(CLOCK_MONOTONIC, &event, &timer->id) == 0;
}

static void delete_timers(struct alarm *alarm, int nr)
{
	while (nr-- > 0)
		timer_delete(alarm->timers[nr].id);
}

void alarm_open(struct alarm *alarm)
{
	int nr = 0;

	*alarm = (struct alarm){0};
	sigemptyset(&alarm->signals);
	sigaddset(&alarm->signals, SIGCHLD);
	sigaddset(&alarm->signals, alarm_signal());
	pthread_sigmask(SIG_BLOCK, &alarm->signals, NULL);
	while (nr < ALARM_TIMERS && create_timer(&alarm->timers[nr], nr))
		nr++;
	alarm->is_open = nr == ALARM_TIMERS;
	if (!alarm->is_open)
		delete_timers(alarm, nr);
}

void alarm_close(struct alarm *alarm)
{
	if (alarm->is_open)
		delete_timers(alarm, ALARM_TIMERS);
	alarm->is_open = false;
}

/* A timer is the CPU's on which it is set, and wakes a thread on another one late. */
static bool is_ahead(const struct alarm_timer *timer, int cpu, uint64_t now_ns)
{
	return timer->at_ns > now_ns && timer->cpu == cpu;
}

/* The next that will wake us here; NULL: none. */
static struct alarm_timer *first_ahead(struct alarm *alarm, int cpu)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct alarm_timer *first = NULL;

	for (size_t i = 0; i < ALARM_TIMERS; i++) {
		struct alarm_timer *timer = &alarm->timers[i];

		if (is_ahead(timer, cpu, now_ns) && (!first || timer->at_ns < first->at_ns))
			first = timer;
	}
	return first;
}

static struct alarm_timer *other_than(struct alarm *alarm, const struct alarm_timer *timer)
{
	return &alarm->timers[timer == &alarm->timers[0]];
}

static void set(struct alarm_timer *timer, int cpu, uint64_t at_ns)
{
	struct itimerspec when = {.it_value = timespec_of(at_ns)};

	if (timer->at_ns == at_ns && timer->cpu == cpu)
		return;
	timer_settime(timer->id, TIMER_ABSTIME, &when, NULL);
	timer->at_ns = at_ns;
	timer->cpu = cpu;
}

static void set_before(struct alarm *alarm, struct alarm_timer *first, int cpu, uint64_t at_ns)
{
	if (alarm->is_open && (!first || first->at_ns > at_ns))
		set(other_than(alarm, first), cpu, at_ns);
}

void alarm_set(struct alarm *alarm, uint64_t at_ns)
{
	int cpu = sched_getcpu();

	set_before(alarm, first_ahead(alarm, cpu), cpu, at_ns);
}

void alarm_set_behind(struct alarm *alarm, uint64_t at_ns)
{
	int cpu = sched_getcpu();

	if (alarm->is_open)
		set(other_than(alarm, first_ahead(alarm, cpu)), cpu, at_ns);
}

/* Where signals may not be queued, there is no timer (RLIMIT_SIGPENDING). */
static int wait_without_timer(const struct alarm *alarm, uint64_t left_ns, siginfo_t *info)
{
	const struct timespec timeout = timespec_of(left_ns);

	return sigtimedwait(&alarm->signals, info, &timeout);
}

/* One whose signal came late may have been set anew since: it is set once more then. */
static void note_expiry(struct alarm *alarm, const siginfo_t *info)
{
	if (info->si_code == SI_TIMER && info->si_value.sival_int >= 0 &&
	    info->si_value.sival_int < ALARM_TIMERS)
		alarm->timers[info->si_value.sival_int].at_ns = 0;
}

/* Where each tick has a second sleep, for a stop, that one is ended by it. */
#define MANY_UNDISTURBED 4

static int wait_for_some_time(struct alarm *alarm, uint64_t until_ns, uint64_t now_ns,
			      siginfo_t *info)
{
	int cpu = sched_getcpu();
	struct alarm_timer *first = first_ahead(alarm, cpu);
	int signal;

	if (!alarm->is_open || (!first && alarm->nr_undisturbed >= MANY_UNDISTURBED)) {
		signal = wait_without_timer(alarm, until_ns - now_ns, info);
	} else {
		set_before(alarm, first, cpu, until_ns);
		signal = sigwaitinfo(&alarm->signals, info);
	}
	alarm->nr_undisturbed = signal == SIGCHLD ? 0 : alarm->nr_undisturbed + 1;
	return signal;
}

pid_t alarm_wait(struct alarm *alarm, uint64_t until_ns)
{
	uint64_t now_ns = until_ns ? clock_monotonic_ns() : 0;
	siginfo_t info;
	int signal;

	if (until_ns <= now_ns)
		signal = wait_without_timer(alarm, 0, &info);
	else
		signal = wait_for_some_time(alarm, until_ns, now_ns, &info);
	if (signal == alarm_signal())
		note_expiry(alarm, &info);
	if (signal != SIGCHLD)
		return 0;
	/* Where signals may not be queued, they have no more than a number. */
	return info.si_code == SI_USER && !info.si_pid ? ALARM_NAMELESS : info.si_pid;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/process_clock.h"

#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/minmax.h"

/* A century of CPU time. */
#define NEVER_NS (UINT64_C(100) * 365 * 24 * 3600 * NS_PER_SEC)

int clock_alarms_signal(void)
{
	return SIGRTMIN + 2;
}

static bool make_timer(struct process_clock *clock, pid_t pid)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
				 .sigev_signo = clock_alarms_signal(),
				 .sigev_value.sival_int = pid};
	clockid_t id;

	if (!clock->was_tried)
		clock->has_timer = clock_getcpuclockid(pid, &id) == 0 &&
				   timer_create(id, &event, &clock->timer) == 0;
	clock->was_tried = true;
	return clock->has_timer;
}

static bool set_timer(struct process_clock *clock, uint64_t at_ns)
{
	const struct itimerspec at = {.it_value = {.tv_sec = (time_t)(at_ns / NS_PER_SEC),
						   .tv_nsec = (long)(at_ns % NS_PER_SEC)}};

	return timer_settime(clock->timer, TIMER_ABSTIME, &at, NULL) == 0;
}

void process_clock_keep(struct process_clock *clock, pid_t pid)
{
	if (clock->is_kept || !make_timer(clock, pid))
		return;
	clock->is_kept = clock->is_watched || set_timer(clock, NEVER_NS);
	if (!clock->is_kept)
		process_clock_release(clock);
}

bool process_clock_watch(struct process_clock *clock, pid_t pid, uint64_t cpu_ns)
{
	if (!clock->is_watched && make_timer(clock, pid))
		clock->is_watched = set_timer(clock, cpu_ns + 1);
	return clock->is_watched;
}

void process_clock_expired(struct process_clock *clock)
{
	clock->is_watched = false;
	if (clock->is_kept)
		clock->is_kept = set_timer(clock, NEVER_NS);
}

void process_clock_release(struct process_clock *clock)
{
	if (clock->has_timer)
		timer_delete(clock->timer);
	clock->has_timer = clock->is_kept = clock->is_watched = false;
}

/* --- alarms --- */

static void on_alarm(int signal_nr)
{
	(void)signal_nr;
}

/* Each timer counts as a pending signal of the user. Other programs have timers as well. */
#define LIMIT_PART 4

void clock_alarms_open(struct clock_alarms *alarms)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct rlimit limit = {.rlim_cur = 0};
	sigset_t ours, former;

	sigemptyset(&ours);
	sigaddset(&ours, clock_alarms_signal());
	sigaction(clock_alarms_signal(), &action, NULL);
	pthread_sigmask(SIG_BLOCK, &ours, &former);
	alarms->was_blocked = sigismember(&former, clock_alarms_signal()) == 1;
	getrlimit(RLIMIT_SIGPENDING, &limit);
	alarms->most = limit.rlim_cur / LIMIT_PART;
	alarms->fd = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
}

void clock_alarms_close(struct clock_alarms *alarms)
{
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, clock_alarms_signal());
	if (!alarms->was_blocked)
		pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
	if (alarms->fd >= 0)
		close(alarms->fd);
	alarms->fd = -1;
}

#define MOST_ALARMS 16

size_t clock_alarms_take(const struct clock_alarms *alarms, pid_t *pids, size_t cap)
{
	struct signalfd_siginfo infos[MOST_ALARMS];
	size_t nr = min_u64(cap, MOST_ALARMS);
	ssize_t got = alarms->fd < 0 ? 0 : read(alarms->fd, infos, nr * sizeof(infos[0]));

	nr = got > 0 ? (size_t)got / sizeof(infos[0]) : 0;
	for (size_t i = 0; i < nr; i++)
		pids[i] = infos[i].ssi_int;
	return nr;
}

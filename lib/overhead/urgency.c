// SPDX-License-Identifier: GPL-2.0-or-later
#include "overhead/urgency.h"

#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

/* sched_setattr(2) */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

/*
 * Is there a limit to the time that a real-time thread may run without a sleep? The kernel kills a
 * process that exceeds it.
 */
static bool has_realtime_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_RTTIME, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/*
 * Of the threads of normal priority the kernel runs first the one with the shortest slice (EEVDF,
 * sched_setattr(2) since Linux 6.12; before that, slices have no effect).
 */
#define SLICE_NS (100 * NS_PER_US)

void urgency_short_slices(void)
{
	struct attributes attributes = {
		.size = sizeof(attributes),
		.policy = SCHED_OTHER,
		.flags = SCHED_FLAG_RESET_ON_FORK,
		.nice = getpriority(PRIO_PROCESS, 0),
		.runtime_ns = SLICE_NS,
	};

	prctl(PR_SET_TIMERSLACK, 1);
	if (sched_getscheduler(0) == SCHED_OTHER)
		syscall(SYS_sched_setattr, 0, &attributes, 0);
}

/*
 * A visitor of normal priority gets its CPU only after a burst of the target there. Real-time
 * priority is allowed for root, by RLIMIT_RTPRIO, or if profc itself was started with it (chrt).
 */
bool urgency_realtime(void)
{
	struct sched_param param = {.sched_priority = 1};

	/* Timers of a thread of normal priority fire up to 50 us late. */
	prctl(PR_SET_TIMERSLACK, 1);
	if (has_realtime_limit())
		return false;
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO | SCHED_RESET_ON_FORK, &param) == 0)
		return true;
	return sched_getscheduler(0) == SCHED_FIFO || sched_getscheduler(0) == SCHED_RR;
}

/*
 * The time reserved for us in each period: several times as much as ticks take. All reservations
 * together may be nineteen twentieths of all CPUs.
 */
#define RUNTIME_NS (2 * NS_PER_MS)
#define PERIOD_NS  (10 * NS_PER_MS)

bool urgency_deadline(const cpu_set_t *allowed)
{
	struct attributes attributes = {
		.size = sizeof(attributes),
		.policy = SCHED_DEADLINE,
		.flags = SCHED_FLAG_RESET_ON_FORK,
		.runtime_ns = RUNTIME_NS,
		.deadline_ns = PERIOD_NS,
		.period_ns = PERIOD_NS,
	};

	return sched_setaffinity(0, sizeof(*allowed), allowed) == 0 &&
	       syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

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
 * Is there a bound on how long a real-time thread may run on? The kernel kills a process that
 * exceeds it.
 */
static bool has_realtime_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_RTTIME, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/*
 * Among threads of normal priority the kernel runs one that wakes with a short slice before those
 * with longer ones (EEVDF, sched_setattr(2) since Linux 6.12; before, it has no effect).
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

	if (sched_getscheduler(0) == SCHED_OTHER)
		syscall(SYS_sched_setattr, 0, &attributes, 0);
}

/*
 * A thread of normal priority sees bursts on its own CPU only when they are over. It may be as
 * root, by RLIMIT_RTPRIO, or where profc itself was started so (chrt).
 */
bool urgency_realtime(void)
{
	struct sched_param param = {.sched_priority = 1};

	/* Timers of a normal thread fire up to 50 us late. */
	prctl(PR_SET_TIMERSLACK, 1);
	if (has_realtime_limit())
		return false;
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO | SCHED_RESET_ON_FORK, &param) == 0)
		return true;
	return sched_getscheduler(0) == SCHED_FIFO || sched_getscheduler(0) == SCHED_RR;
}

/*
 * So much of each period is ours, if we want it: several times what ticks take. The kernel lets
 * what is reserved so be nineteen twentieths of all CPUs.
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

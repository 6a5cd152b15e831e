// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/displacer.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum displacer_state {
	DISPLACER_RESTS,
	DISPLACER_IS_ARMED,
	DISPLACER_IS_THERE,
	DISPLACER_ENDS,
};

/* It stays no longer, whatever became of who called it; and nobody waits longer for it to come. */
#define LONGEST_STAY_NS	 (60 * NS_PER_US)
#define LATEST_COMING_NS (30 * NS_PER_US)
#define FIRST_LEAD_NS	 (25 * NS_PER_US)
#define LONGEST_LEAD_NS	 (200 * NS_PER_US)
/* From its timer until it is there. */
#define COMING_NS   (8 * NS_PER_US)
#define STACK_BYTES ((size_t)64 << 10)

/* Until another order is given, or that time of CLOCK_MONOTONIC; NULL: however long that takes. */
static void await_order(struct displacer *displacer, uint32_t order, const struct timespec *until)
{
	syscall(SYS_futex, &displacer->order, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, order, until,
		NULL, FUTEX_BITSET_MATCH_ANY);
}

static void give_order(struct displacer *displacer)
{
	atomic_fetch_add(&displacer->order, 1);
	syscall(SYS_futex, &displacer->order, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
}

static bool change(struct displacer *displacer, uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong(&displacer->state, &from, to);
}

static void come(struct displacer *displacer, uint32_t order)
{
	uint64_t at_ns = atomic_load(&displacer->at_ns);
	struct timespec at = {.tv_sec = (time_t)(at_ns / NS_PER_SEC),
			      .tv_nsec = (long)(at_ns % NS_PER_SEC)};
	uint64_t came_ns;

	await_order(displacer, order, &at);
	came_ns = clock_monotonic_ns();
	if (came_ns < at_ns || atomic_load(&displacer->at_ns) != at_ns)
		return;
	atomic_store(&displacer->came_ns, came_ns);
	if (!change(displacer, DISPLACER_IS_ARMED, DISPLACER_IS_THERE))
		return;
	while (atomic_load_explicit(&displacer->state, memory_order_acquire) ==
		       DISPLACER_IS_THERE &&
	       clock_monotonic_ns() - came_ns < LONGEST_STAY_NS)
		continue;
	change(displacer, DISPLACER_IS_THERE, DISPLACER_RESTS);
}

static void *displacer_main(void *argument)
{
	struct displacer *displacer = argument;

	prctl(PR_SET_TIMERSLACK, 1);
	for (;;) {
		uint32_t order = atomic_load(&displacer->order);

		switch (atomic_load(&displacer->state)) {
		case DISPLACER_ENDS:
			atomic_store(&displacer->cpu_ns, clock_thread_cpu_ns());
			return NULL;
		case DISPLACER_IS_ARMED:
			come(displacer, order);
			break;
		default:
			await_order(displacer, order, NULL);
		}
	}
}

static size_t stack_bytes(void)
{
	long least = sysconf(_SC_THREAD_STACK_MIN);

	return least > (long)STACK_BYTES ? (size_t)least : STACK_BYTES;
}

/* It takes no signals. */
static bool start(struct displacer *displacer, const pthread_attr_t *attributes)
{
	sigset_t all, before;
	bool is_started;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	is_started = pthread_create(&displacer->thread, attributes, displacer_main, displacer) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return is_started;
}

void displacer_open(struct displacer *displacer)
{
	const struct sched_param param = {.sched_priority = 1};
	pthread_attr_t attributes;

	*displacer = (struct displacer){.cpu = -1, .lead_ns = FIRST_LEAD_NS};
	if (pthread_attr_init(&attributes) != 0)
		return;
	if (pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED) == 0 &&
	    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO) == 0 &&
	    pthread_attr_setschedparam(&attributes, &param) == 0 &&
	    pthread_attr_setstacksize(&attributes, stack_bytes()) == 0)
		displacer->is_open = start(displacer, &attributes);
	pthread_attr_destroy(&attributes);
}

/* Who has its CPU may have a higher priority. */
uint64_t displacer_close(struct displacer *displacer)
{
	cpu_set_t all;

	if (!displacer->is_open)
		return 0;
	memset(&all, 0xff, sizeof(all));
	pthread_setaffinity_np(displacer->thread, sizeof(all), &all);
	atomic_store(&displacer->state, DISPLACER_ENDS);
	give_order(displacer);
	pthread_join(displacer->thread, NULL);
	displacer->is_open = false;
	return atomic_load(&displacer->cpu_ns);
}

static bool bind(struct displacer *displacer, int cpu)
{
	cpu_set_t cpus;

	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return false;
	if (cpu == displacer->cpu)
		return true;
	CPU_ZERO(&cpus);
	CPU_SET((size_t)cpu, &cpus);
	if (pthread_setaffinity_np(displacer->thread, sizeof(cpus), &cpus) != 0)
		return false;
	displacer->cpu = cpu;
	return true;
}

bool displacer_is_there(const struct displacer *displacer)
{
	return atomic_load_explicit(&displacer->state, memory_order_acquire) == DISPLACER_IS_THERE;
}

void displacer_dismiss(struct displacer *displacer)
{
	displacer->armed_for_ns = 0;
	if (!change(displacer, DISPLACER_IS_THERE, DISPLACER_RESTS))
		change(displacer, DISPLACER_IS_ARMED, DISPLACER_RESTS);
}

bool displacer_is_due(const struct displacer *displacer, int cpu, uint64_t tick_ns)
{
	return displacer->armed_for_ns == tick_ns && displacer->cpu == cpu;
}

void displacer_arm(struct displacer *displacer, int cpu, uint64_t tick_ns)
{
	uint64_t before_ns = atomic_load(&displacer->at_ns);
	uint64_t at_ns = tick_ns + displacer->lead_ns;
	bool moves = cpu != displacer->cpu;

	if (!displacer->is_open || displacer_is_due(displacer, cpu, tick_ns))
		return;
	if (moves)
		displacer_dismiss(displacer);
	if (!bind(displacer, cpu))
		return;
	displacer->armed_for_ns = tick_ns;
	atomic_store(&displacer->at_ns, at_ns);
	/*
	 * From being there, or asleep until before that, it goes on by itself. The timer of its
	 * sleep is the CPU's on which it was set.
	 */
	if (atomic_exchange(&displacer->state, DISPLACER_IS_ARMED) == DISPLACER_RESTS || moves ||
	    at_ns < before_ns)
		give_order(displacer);
}

/*
 * To be there just when it is wanted. Of an eighth each time: the mean over some ticks, which take
 * longer the more threads are looked at.
 */
static void learn_lead(struct displacer *displacer)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t wanted_ns = displacer->armed_for_ns + COMING_NS;

	if (displacer->learnt_for_ns == displacer->armed_for_ns)
		return;
	displacer->learnt_for_ns = displacer->armed_for_ns;
	wanted_ns = now_ns > wanted_ns ? now_ns - wanted_ns : 0;
	if (wanted_ns > LONGEST_LEAD_NS)
		wanted_ns = LONGEST_LEAD_NS;
	displacer->lead_ns = (displacer->lead_ns * 7 + wanted_ns) / 8;
}

uint64_t displacer_await(struct displacer *displacer, int cpu, uint64_t tick_ns)
{
	uint64_t until_ns = atomic_load(&displacer->at_ns) + LATEST_COMING_NS;

	if (!displacer_is_due(displacer, cpu, tick_ns))
		return 0;
	learn_lead(displacer);
	while (!displacer_is_there(displacer)) {
		if (clock_monotonic_ns() >= until_ns)
			return 0;
	}
	return atomic_load(&displacer->came_ns);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/cpu_clocks.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "proc/read.h"

#define CPUS_MAX CPU_SETSIZE

struct reading {
	uint64_t read_ns;  /* CLOCK_MONOTONIC; 0: never */
	uint64_t clock_ns; /* of the CPU then, or some microseconds before */
};

struct cpu_clocks {
	pthread_t reader;
	bool has_reader;
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t changed;
	bool ends;
	bool is_wanted[CPUS_MAX];
	/* Each the latest; one that is some time before it, and one as much before that. */
	struct reading readings[CPUS_MAX], between[CPUS_MAX], former[CPUS_MAX];
};

static bool bind_to(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET((size_t)cpu, &cpus);
	return sched_setaffinity(0, sizeof(cpus), &cpus) == 0;
}

/* The best is that which has least between the two clocks. */
#define TIMES_READ 3

/* A thread's time is of the moment at which it has come to its CPU: so it sleeps before. */
static void read_once(pid_t tid, struct reading *best)
{
	const struct timespec moment = {.tv_nsec = 1};
	struct reading now;

	nanosleep(&moment, NULL);
	if (!proc_read_exec_start(getpid(), tid, &now.clock_ns))
		return;
	now.read_ns = clock_monotonic_ns();
	if (!best->read_ns || now.read_ns - now.clock_ns < best->read_ns - best->clock_ns)
		*best = now;
}

static struct reading read_clock(int cpu)
{
	struct reading best = {0};
	pid_t tid = gettid();

	if (!bind_to(cpu))
		return best;
	for (int i = 0; i < TIMES_READ; i++)
		read_once(tid, &best);
	return best;
}

/* From one reading to the next: who wants one can wait so long. */
#define PAUSE_NS (5 * NS_PER_MS)

static void rest(void)
{
	const struct timespec pause = {.tv_nsec = (long)PAUSE_NS};

	nanosleep(&pause, NULL);
}

/* -1: none */
static int next_wanted(const struct cpu_clocks *clocks)
{
	for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (clocks->is_wanted[cpu])
			return cpu;
	}
	return -1;
}

/* Of two that are as far apart it can be told how much of the time the clock stands. */
#define APART_NS (20 * NS_PER_MS)

static void note_reading(struct cpu_clocks *clocks, int cpu, const struct reading *reading)
{
	struct reading *between = &clocks->between[cpu];

	if (!reading->read_ns)
		return;
	if (reading->read_ns - between->read_ns >= APART_NS) {
		clocks->former[cpu] = *between;
		*between = *reading;
	}
	clocks->readings[cpu] = *reading;
}

static void *read_wanted(void *argument)
{
	struct cpu_clocks *clocks = argument;

	pthread_mutex_lock(&clocks->lock);
	while (!clocks->ends) {
		int cpu = next_wanted(clocks);
		struct reading reading;

		if (cpu < 0) {
			pthread_cond_wait(&clocks->changed, &clocks->lock);
			continue;
		}
		clocks->is_wanted[cpu] = false;
		pthread_mutex_unlock(&clocks->lock);
		reading = read_clock(cpu);
		pthread_mutex_lock(&clocks->lock);
		note_reading(clocks, cpu, &reading);
		pthread_mutex_unlock(&clocks->lock);
		rest();
		pthread_mutex_lock(&clocks->lock);
	}
	pthread_mutex_unlock(&clocks->lock);
	return NULL;
}

/* It takes no signals, and has no priority over anybody. */
static bool start(struct cpu_clocks *clocks)
{
	const struct sched_param none = {0};
	pthread_attr_t attributes;
	sigset_t all, before;
	bool is_started;

	if (pthread_attr_init(&attributes) != 0)
		return false;
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
	pthread_attr_setschedparam(&attributes, &none);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	is_started = pthread_create(&clocks->reader, &attributes, read_wanted, clocks) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return is_started;
}

struct cpu_clocks *cpu_clocks_new(void)
{
	struct cpu_clocks *clocks = xcalloc(1, sizeof(*clocks));

	pthread_mutex_init(&clocks->lock, NULL);
	pthread_cond_init(&clocks->changed, NULL);
	return clocks;
}

/* Who has the CPU that it is bound to may have a higher priority. */
static void end_reader(struct cpu_clocks *clocks)
{
	const struct timespec moment = {.tv_nsec = (long)NS_PER_MS};
	cpu_set_t all;

	pthread_mutex_lock(&clocks->lock);
	clocks->ends = true;
	pthread_cond_signal(&clocks->changed);
	pthread_mutex_unlock(&clocks->lock);
	memset(&all, 0xff, sizeof(all));
	do /* it may be about to bind itself to one once more */
		pthread_setaffinity_np(clocks->reader, sizeof(all), &all);
	while (pthread_tryjoin_np(clocks->reader, NULL) == EBUSY && nanosleep(&moment, NULL) == 0);
}

void cpu_clocks_end(struct cpu_clocks *clocks)
{
	if (!clocks)
		return;
	if (clocks->has_reader)
		end_reader(clocks);
	pthread_cond_destroy(&clocks->changed);
	pthread_mutex_destroy(&clocks->lock);
	free(clocks);
}

void cpu_clocks_want(struct cpu_clocks *clocks, int cpu)
{
	if (cpu < 0 || cpu >= CPUS_MAX)
		return;
	if (!clocks->has_reader)
		clocks->has_reader = start(clocks);
	pthread_mutex_lock(&clocks->lock);
	clocks->is_wanted[cpu] = true;
	pthread_cond_signal(&clocks->changed);
	pthread_mutex_unlock(&clocks->lock);
}

/* Longer ago it tells nothing of now: */
#define FORMER_NS (2 * NS_PER_SEC)
/* it may have stood for such a part of the time, or more. */
#define UNKNOWN_SHARE 4

#define SLEWED_SHARE 2000

static uint64_t stood_between(const struct reading *former, const struct reading *now)
{
	uint64_t before_ns = former->read_ns - former->clock_ns;
	uint64_t after_ns = now->read_ns - now->clock_ns;

	return after_ns > before_ns ? after_ns - before_ns : 0;
}

/* Twice what it was of late, as the host takes CPUs in phases. */
static uint64_t may_have_stood(const struct reading *former, const struct reading *now,
			       uint64_t age_ns)
{
	uint64_t apart_ns = now->read_ns - former->read_ns;

	if (!former->read_ns || apart_ns > FORMER_NS)
		return age_ns / UNKNOWN_SHARE;
	return (uint64_t)(2.0 * (double)stood_between(former, now) * (double)age_ns /
			  (double)apart_ns);
}

bool cpu_clocks_time(struct cpu_clocks *clocks, int cpu, uint64_t clock_ns, uint64_t not_before_ns,
		     struct cpu_time *time)
{
	struct reading reading, former;
	uint64_t age_ns;

	if (cpu < 0 || cpu >= CPUS_MAX)
		return false;
	pthread_mutex_lock(&clocks->lock);
	reading = clocks->readings[cpu];
	former = clocks->former[cpu];
	pthread_mutex_unlock(&clocks->lock);
	if (!reading.read_ns || reading.read_ns < not_before_ns || reading.clock_ns < clock_ns ||
	    reading.clock_ns - clock_ns > reading.read_ns)
		return false;
	age_ns = reading.clock_ns - clock_ns;
	/* CLOCK_MONOTONIC may be slewed: by half a thousandth at most (adjtimex(2)). */
	time->latest_ns = reading.read_ns - age_ns + age_ns / SLEWED_SHARE;
	time->error_ns = may_have_stood(&former, &reading, reading.read_ns - time->latest_ns);
	return true;
}

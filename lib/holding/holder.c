// SPDX-License-Identifier: GPL-2.0-or-later
#include "holding/holder.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "overhead/urgency.h"
#include "snapshot/snapshot.h"

/* A stop takes a few microseconds; later, the thread waits for a CPU, or is in the kernel. */
#define SPIN_NS	      (60 * NS_PER_US)
#define PAUSE_NS      (10 * NS_PER_US)
#define PAUSE_PART    4
#define PAUSE_MOST_NS NS_PER_MS
#define ASK_NS	      (100 * NS_PER_MS)
#define PATIENCE_NS   (2 * NS_PER_SEC)
/* No stop is longer. */
#define MOST_STOP_NS (2 * NS_PER_MS)
#define STACK_BYTES  (256 * 1024)
/* A thread that could not be stopped is tried again then. */
#define REFUSED_NS (10 * NS_PER_MS)

static struct timespec as_timespec(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_SEC),
				 .tv_nsec = (long)(ns % NS_PER_SEC)};
}

static void init_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

void holding_init(struct holding *holding)
{
	*holding = (struct holding){.host = tracee_host_new()};
	pthread_mutex_init(&holding->lock, NULL);
	init_condition(&holding->told);
}

void holding_release(struct holding *holding)
{
	tracee_host_free(holding->host);
	pthread_mutex_destroy(&holding->lock);
	pthread_cond_destroy(&holding->told);
}

/* --- a stop --- */

static void note_reaped(struct holder *holder, const struct visit *visit)
{
	if (!visit->is_reaped)
		return;
	holder->is_reaped = true;
	holder->reaped_status = visit->status;
}

/*
 * A thread cannot stop before we leave its CPU. The longer it takes, the more rarely
 * it is asked about.
 */
static enum visit_outcome await_stop(struct holder *holder, struct visit *visit, bool spins)
{
	uint64_t asked_ns = visit->interrupted_ns;

	for (;;) {
		enum visit_outcome outcome = visit_wait(visit, false);
		uint64_t now_ns = clock_monotonic_ns();
		uint64_t waits_ns = now_ns - visit->interrupted_ns;
		struct timespec pause;

		if (outcome != VISIT_PENDING || waits_ns > PATIENCE_NS ||
		    atomic_load(&holder->holding->is_over))
			return outcome;
		if (now_ns - asked_ns > ASK_NS) {
			visit_ask_again(visit);
			asked_ns = now_ns;
		}
		if (spins && waits_ns < SPIN_NS)
			continue;
		pause = as_timespec(
			min_u64(max_u64(PAUSE_NS, waits_ns / PAUSE_PART), PAUSE_MOST_NS));
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
}

static uint64_t pc_of(const struct snapshot *snapshot)
{
	uint64_t pc = 0;

	regs_get(&snapshot->regs, arch_regs(snapshot->arch)->pc, &pc);
	return pc;
}

enum visit_outcome holder_stop(struct holder *holder, struct held_stop *stop)
{
	struct visit *visit = &stop->visit;
	enum visit_outcome outcome = visit_begin(visit, holder->tracee.tgid, holder->tracee.tid);

	visit->reads_filters = holder->reads_filters;
	visit->is_over = &holder->holding->is_over;
	if (outcome == VISIT_PENDING)
		outcome = await_stop(holder, visit, holder->cpu != sched_getcpu());
	note_reaped(holder, visit);
	if (outcome != VISIT_STOPPED)
		return outcome;
	visit_capture_registers(visit, &holder->tracee, holder->snapshot);
	stop->pc = pc_of(holder->snapshot);
	note_reaped(holder, visit);
	if (visit->is_left)
		return VISIT_PENDING;
	return visit->is_reaped ? VISIT_GONE : outcome;
}

void holder_let_go(struct holder *holder, struct held_stop *stop)
{
	visit_end(&stop->visit);
	holder->held_ns += clock_monotonic_ns() - stop->visit.stopped_ns;
	note_reaped(holder, &stop->visit);
}

/* Another tracer, such as a profiler, may have it for a moment. */
void holder_refuse(struct holder *holder)
{
	holder->refused_until_ns = clock_monotonic_ns() + REFUSED_NS;
}

/* --- holds --- */

/* To where it runs: so we do not take the CPU of another one. */
static void go_to(struct holder *holder, int cpu)
{
	cpu_set_t cpus;

	if (cpu < 0 || cpu == holder->bound_cpu || cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&cpus);
	CPU_SET((size_t)cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) == 0)
		holder->bound_cpu = cpu;
}

/* Until when it is to be held, as things are now; 0: it owes nothing more. */
static uint64_t until_ns(struct holder *holder, uint64_t began_ns)
{
	struct holding *holding = holder->holding;
	uint64_t now_ns = clock_monotonic_ns(), owed_ns, paid_ns = now_ns - began_ns;

	pthread_mutex_lock(&holding->lock);
	owed_ns = whatif_account_hold_ns(&holder->account, &holding->accounts);
	if (holder->is_to_end)
		owed_ns = 0;
	pthread_mutex_unlock(&holding->lock);
	paid_ns += holding->overhead.beside_ns;
	return owed_ns > paid_ns && now_ns < began_ns + MOST_STOP_NS ? now_ns + owed_ns - paid_ns
								     : 0;
}

/* A hold costs more than it lasts, and may last too long: all of it counts. */
static void hold(struct holder *holder)
{
	struct held_stop stop;
	struct timespec until;
	uint64_t began_ns, end_ns;
	enum visit_outcome outcome;

	go_to(holder, holder->cpu);
	outcome = holder_stop(holder, &stop);
	if (outcome != VISIT_STOPPED) {
		pthread_mutex_lock(&holder->holding->lock);
		holder_refuse(holder);
		/* Our end detaches it. */
		holder->is_to_end |= outcome == VISIT_PENDING;
		pthread_mutex_unlock(&holder->holding->lock);
		return;
	}
	began_ns = stop.visit.stopped_ns;
	while ((end_ns = until_ns(holder, began_ns))) {
		until = as_timespec(end_ns);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
	end_ns = clock_monotonic_ns();
	holder_let_go(holder, &stop);
	pthread_mutex_lock(&holder->holding->lock);
	holder->nr_holds++;
	whatif_account_held(&holder->account,
			    end_ns - began_ns + holder->holding->overhead.beside_ns);
	pthread_mutex_unlock(&holder->holding->lock);
}

/* After the longest stop it may owe more. */
static bool shall_go_on(struct holder *holder)
{
	struct holding *holding = holder->holding;
	struct proc_stat stat;
	bool owes;

	pthread_mutex_lock(&holding->lock);
	owes = !holder->is_to_end && clock_monotonic_ns() >= holder->refused_until_ns &&
	       whatif_account_hold_ns(&holder->account, &holding->accounts);
	pthread_mutex_unlock(&holding->lock);
	if (!owes || !tracee_stat(&holder->tracee, &stat) || stat.state != 'R' ||
	    stat.flags & PROC_FLAGS_ENDING)
		return false;
	holder->cpu = stat.cpu;
	return true;
}

static void *hold_on_demand(void *argument)
{
	struct holder *holder = argument;
	struct holding *holding = holder->holding;

	if (!urgency_realtime())
		urgency_short_slices();
	pthread_mutex_lock(&holding->lock);
	while (!holder->is_to_end) {
		if (!holder->is_busy) {
			pthread_cond_wait(&holder->wake, &holding->lock);
			continue;
		}
		pthread_mutex_unlock(&holding->lock);
		do
			hold(holder);
		while (shall_go_on(holder));
		pthread_mutex_lock(&holding->lock);
		holder->is_busy = false;
		pthread_cond_signal(&holding->told);
	}
	holder->is_busy = false;
	pthread_mutex_unlock(&holding->lock);
	return NULL;
}

static bool begin(struct holder *holder)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	holder->has_begun = !pthread_create(&holder->id, &attributes, hold_on_demand, holder);
	pthread_attr_destroy(&attributes);
	if (!holder->has_begun)
		holder_refuse(holder);
	return holder->has_begun;
}

/* It has ended, or will in a moment without the lock, if its thread did not stop. */
static void await_end(struct holder *holder)
{
	if (!holder->has_begun || !holder->is_to_end)
		return;
	pthread_join(holder->id, NULL);
	holder->has_begun = holder->is_to_end = false;
	holder->bound_cpu = -1;
}

void holder_hold(struct holder *holder, int cpu)
{
	await_end(holder);
	if (!holder->has_begun && !begin(holder))
		return;
	holder->cpu = cpu;
	holder->is_busy = true;
	pthread_cond_signal(&holder->wake);
}

struct holder *holder_new(struct holding *holding, pid_t tgid, pid_t tid)
{
	struct holder *holder = xcalloc(1, sizeof(*holder));

	holder->holding = holding;
	holder->cpu = holder->bound_cpu = -1;
	holder->snapshot = xcalloc(1, sizeof(*holder->snapshot));
	tracee_open(&holder->tracee, holding->host, tgid, tid);
	init_condition(&holder->wake);
	return holder;
}

void holder_free(struct holder *holder)
{
	if (!holder)
		return;
	pthread_mutex_lock(&holder->holding->lock);
	holder->is_to_end = true;
	pthread_cond_signal(&holder->wake);
	pthread_mutex_unlock(&holder->holding->lock);
	if (holder->has_begun)
		pthread_join(holder->id, NULL);
	tracee_close(&holder->tracee);
	pthread_cond_destroy(&holder->wake);
	snapshot_release(holder->snapshot);
	free(holder->snapshot);
	free(holder);
}

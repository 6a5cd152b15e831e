// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/placement.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/minmax.h"

void placement_init(struct placement *placement, bool realtime, uint64_t seed)
{
	*placement = (struct placement){.cpu = -1, .realtime = realtime, .random = seed};
	placement->candidate = -1;
	if (sched_getaffinity(0, sizeof(placement->allowed), &placement->allowed) < 0)
		CPU_ZERO(&placement->allowed);
}

void placement_begin_tick(struct placement *placement)
{
	CPU_ZERO(&placement->running);
	CPU_ZERO(&placement->seen);
	placement->any_caller = false;
	placement->candidate = -1;
	placement->nr_candidates = 0;
}

static uint64_t next_random(struct placement *placement)
{
	placement->random =
		placement->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return placement->random >> 33;
}

void placement_saw(struct placement *placement, int cpu, bool runs, bool makes_calls)
{
	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return;
	CPU_SET((size_t)cpu, &placement->seen);
	if (runs)
		CPU_SET((size_t)cpu, &placement->running);
	placement->any_caller |= runs && makes_calls;
	if (next_random(placement) % ++placement->nr_candidates == 0)
		placement->candidate = cpu;
}

/* The present CPU if it will do, else the first one that does; -1: none. */
static int cpu_besides(const struct placement *placement, const cpu_set_t *taken)
{
	cpu_set_t away;

	CPU_XOR(&away, &placement->allowed, taken);
	CPU_AND(&away, &away, &placement->allowed);
	if (placement->cpu >= 0 && CPU_ISSET((size_t)placement->cpu, &away))
		return placement->cpu;
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &away))
			return (int)cpu;
	}
	return -1;
}

/*
 * Threads that sleep now will run where they did. At real-time priority we see them there all the
 * same; else we would be woken only when their burst is over.
 */
static int cpu_away(const struct placement *placement)
{
	int cpu = cpu_besides(placement, &placement->seen);

	return cpu < 0 && placement->realtime ? cpu_besides(placement, &placement->running) : cpu;
}

/*
 * To move takes some 17 us of two CPUs, and is needed for the sake of callers only. From time to
 * time all the same: where we are a thread loses several times what it does elsewhere.
 */
#define TICKS_PER_MOVE 32

static bool may_stay(const struct placement *placement)
{
	return !placement->any_caller && placement->cpu >= 0 &&
	       CPU_ISSET((size_t)placement->cpu, &placement->seen) &&
	       placement->nr_stays < TICKS_PER_MOVE;
}

enum placement_kind placement_choose(const struct placement *placement, bool some_idle, int *cpu)
{
	*cpu = placement->cpu;
	if (placement->candidate < 0)
		return placement->kind;
	if (some_idle && !placement->any_caller) {
		*cpu = cpu_away(placement);
		if (*cpu >= 0)
			return PLACEMENT_AWAY;
	}
	if (placement->realtime && may_stay(placement)) {
		*cpu = placement->cpu;
		return PLACEMENT_BESIDE;
	}
	*cpu = placement->realtime ? placement->candidate : -1;
	return placement->realtime ? PLACEMENT_BESIDE : PLACEMENT_ANYWHERE;
}

void placement_move(struct placement *placement, enum placement_kind kind, int cpu)
{
	cpu_set_t cpus = placement->allowed;

	placement->kind = kind;
	placement->nr_stays++;
	if (cpu == placement->cpu)
		return;
	placement->nr_stays = 0;
	if (cpu >= 0) {
		CPU_ZERO(&cpus);
		CPU_SET((size_t)cpu, &cpus);
	}
	if (sched_setaffinity(0, sizeof(cpus), &cpus) == 0)
		placement->cpu = cpu;
}

/* Idle CPUs, in hundredths; two figures, so that it does not swing about one. */
#define IDLE_ENTER 60
#define IDLE_LEAVE 40
/* The shortest interval that says anything, in hundredths of a second. */
#define IDLE_INTERVAL_CS 8

/* The kernel sums all interrupts up for it, which with very many CPUs may take milliseconds. */
#define DEAR_READ_NS (200 * NS_PER_US)
#define TIMES_READ   3 /* the host may have taken the CPU meanwhile */

static bool is_dear(int fd)
{
	uint64_t ticks, least_ns = UINT64_MAX;

	for (int i = 0; i < TIMES_READ; i++) {
		uint64_t began_ns = clock_monotonic_ns();

		if (!proc_read_iowait(fd, &ticks))
			return true;
		least_ns = min_u64(least_ns, clock_monotonic_ns() - began_ns);
	}
	return least_ns > DEAR_READ_NS;
}

static int open_stat(void)
{
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || !is_dear(fd))
		return fd;
	close(fd);
	return -1;
}

/* A CPU is idle, too, while somebody waits for a disk. */
static bool read_idle(const struct idle_meter *meter, struct proc_uptime *now)
{
	uint64_t iowait_ticks;

	if (meter->fd < 0 || !proc_read_uptime(meter->fd, now))
		return false;
	if (meter->stat_fd >= 0 && proc_read_iowait(meter->stat_fd, &iowait_ticks))
		now->idle_cs += iowait_ticks * 100 / meter->ticks_per_sec;
	return true;
}

void idle_meter_open(struct idle_meter *meter)
{
	*meter = (struct idle_meter){.fd = open("/proc/uptime", O_RDONLY | O_CLOEXEC),
				     .stat_fd = open_stat(),
				     .ticks_per_sec = (uint64_t)sysconf(_SC_CLK_TCK)};
	read_idle(meter, &meter->last);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void idle_meter_close(struct idle_meter *meter)
{
	close_fd(&meter->fd);
	close_fd(&meter->stat_fd);
}

void idle_meter_judge(struct idle_meter *meter, const struct proc_uptime *now)
{
	uint64_t interval_cs = now->uptime_cs - meter->last.uptime_cs;
	uint64_t idle_cs =
		now->idle_cs > meter->last.idle_cs ? now->idle_cs - meter->last.idle_cs : 0;

	if (now->uptime_cs < meter->last.uptime_cs + IDLE_INTERVAL_CS)
		return;
	meter->some_idle =
		idle_cs * 100 >= interval_cs * (meter->some_idle ? IDLE_LEAVE : IDLE_ENTER);
	meter->last = *now;
}

void idle_meter_update(struct idle_meter *meter)
{
	struct proc_uptime now;

	if (read_idle(meter, &now))
		idle_meter_judge(meter, &now);
}

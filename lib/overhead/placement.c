// SPDX-License-Identifier: GPL-2.0-or-later
#include "overhead/placement.h"

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

/* A thread "runs much" if it had a CPU for this part of the time. */
#define RUNS_MUCH_PART 4

bool placement_runs_much(uint64_t cpu_ns, uint64_t elapsed_ns, bool ran_before)
{
	return ran_before || cpu_ns * RUNS_MUCH_PART >= elapsed_ns;
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

/* An allowed CPU that is not taken: the present one, else the first; -1: none. */
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
 * Threads that sleep now will run again on their former CPUs. A visitor of real-time priority sees
 * them there all the same; any other would get the CPU only after their burst.
 */
static int cpu_away(const struct placement *placement)
{
	int cpu = cpu_besides(placement, &placement->seen);

	return cpu < 0 && placement->realtime ? cpu_besides(placement, &placement->running) : cpu;
}

/*
 * A move takes some 17 us of two CPUs, and only threads that make many calls need it. The visitor
 * moves from time to time all the same: the thread on its CPU loses several times as much as
 * others.
 */
#define TICKS_PER_MOVE 32

static bool may_stay(const struct placement *placement)
{
	return !placement->any_caller && placement->cpu >= 0 &&
	       CPU_ISSET((size_t)placement->cpu, &placement->seen) &&
	       placement->nr_stays < TICKS_PER_MOVE;
}

static bool none_runs(const struct placement *placement)
{
	return placement->realtime && CPU_COUNT(&placement->running) == 0;
}

enum placement_kind placement_choose(const struct placement *placement, bool some_idle, int *cpu)
{
	*cpu = placement->cpu;
	if (placement->candidate < 0)
		return placement->kind;
	if ((some_idle && !placement->any_caller) || none_runs(placement)) {
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

bool placement_move(struct placement *placement, enum placement_kind kind, int cpu, cpu_set_t *cpus)
{
	placement->kind = kind;
	placement->nr_stays++;
	if (cpu == placement->cpu)
		return false;
	placement->nr_stays = 0;
	placement->cpu = cpu;
	*cpus = placement->allowed;
	if (cpu >= 0) {
		CPU_ZERO(cpus);
		CPU_SET((size_t)cpu, cpus);
	}
	return true;
}

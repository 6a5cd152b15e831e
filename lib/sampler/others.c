// SPDX-License-Identifier: GPL-2.0-or-later
/* Puts into the profile what other programs used of the CPUs meanwhile. */
#include "sampler/others_priv.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/pid_table.h"
#include "proc/machine.h"
#include "profile/profile.h"

/* As many programs are kept, if each used a thousandth of the busy time. */
#define PROGRAMS_KEPT 16
#define LEAST_PART    1000

struct other_programs {
	struct machine_meter *meter; /* owned */
	struct pid_table recorded;   /* processes; values unused */
	size_t nr_recorded;	     /* rows of the profile that are in there */
	bool is_done;		     /* the profile has all */
};

static bool is_recorded(void *context, pid_t pid)
{
	const struct other_programs *others = context;

	return pid_table_get(&others->recorded, pid) != NULL;
}

struct other_programs *others_new(void)
{
	struct other_programs *others = xcalloc(1, sizeof(*others));

	others->meter = machine_meter_new(is_recorded, others);
	return others;
}

void others_free(struct other_programs *others)
{
	if (!others)
		return;
	machine_meter_free(others->meter);
	pid_table_release(&others->recorded);
	free(others);
}

static void put(struct other_programs *others, struct profile *profile)
{
	struct machine_times times = machine_meter_times(others->meter);
	const struct machine_program *programs;
	size_t nr;

	profile_set_counter(profile, "machine_busy_ns", times.busy_ns);
	profile_set_counter(profile, "machine_idle_ns", times.idle_ns);
	profile_set_counter(profile, "machine_stolen_ns", times.stolen_ns);
	programs = machine_meter_programs(others->meter, &nr);
	for (size_t i = 0; i < nr && i < PROGRAMS_KEPT; i++) {
		const struct profile_other row = {.name = profile_intern(profile, programs[i].name),
						  .is_of_children = programs[i].is_of_children,
						  .cpu_ns = programs[i].cpu_ns};

		if (LEAST_PART * row.cpu_ns >= times.busy_ns)
			profile_add_other(profile, &row);
	}
}

void others_read(struct other_programs *others, struct profile *profile, bool is_last)
{
	for (; others->nr_recorded < profile->nr_processes; others->nr_recorded++) {
		pid_t pid = profile->processes[others->nr_recorded].pid;

		if (pid)
			pid_table_set(&others->recorded, pid, others);
	}
	if (others->is_done)
		return;
	machine_meter_read(others->meter, clock_monotonic_ns(), is_last);
	if (is_last)
		put(others, profile);
	others->is_done = is_last;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which programs have the CPUs of the machine: from /proc/stat, and the stat of all processes. */
#ifndef PROFC_PROC_MACHINE_H
#define PROFC_PROC_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The time of all CPUs together. */
struct machine_times {
	uint64_t busy_ns, idle_ns;
	uint64_t stolen_ns; /* the host of a virtual machine gave them to others */
};

/*
 * The sums since boot, from the text of /proc/stat, in clock ticks of `tick_ns`. False, and nothing
 * written, if the text does not begin as that does.
 */
bool machine_times_parse(const char *text, size_t size, uint64_t tick_ns,
			 struct machine_times *times);

/* All processes of one name. */
struct machine_program {
	char *name;	     /* owned by the meter */
	bool is_of_children; /* processes that such a program began, and that ended unseen */
	uint64_t cpu_ns;
};

/*
 * Sums up what programs use, from the first reading on. A process that begins and ends between two
 * readings is known by its parent, to which the kernel adds its time.
 */
struct machine_meter;

/* Are these processes, and their children, to be left out? */
typedef bool machine_is_ours(void *context, pid_t pid);

struct machine_meter *machine_meter_new(machine_is_ours *is_ours, void *context);
void machine_meter_free(struct machine_meter *meter); /* may be NULL */

/*
 * Read the times, if the last reading is long enough ago or this one `is_last`; and the processes,
 * if CPUs were busy since. All readings take a small part of the time.
 */
void machine_meter_read(struct machine_meter *meter, uint64_t now_ns, bool is_last);
/* From the first reading to the last one; all 0 if there were not two. */
struct machine_times machine_meter_times(const struct machine_meter *meter);
/* The programs that used most, the first the most. Borrowed until the next reading. */
const struct machine_program *machine_meter_programs(struct machine_meter *meter, size_t *nr);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many processes and threads a profile has. */
#ifndef PROFC_PROFILE_TASKS_H
#define PROFC_PROFILE_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

/* An exec adds a row to a process, as a child of the row before. Was the row added by one? */
bool profile_process_is_exec(const struct profile *profile, size_t row);

struct profile_tasks {
	uint64_t nr_processes; /* each once, whatever it executed */
	uint64_t nr_threads;
	uint64_t nr_unseen; /* besides, processes that ended before they were found; an estimate */
};

struct profile_tasks profile_count_tasks(const struct profile *profile);

#endif

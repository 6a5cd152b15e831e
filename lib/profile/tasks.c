// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts processes and threads. */
#include "profile/tasks.h"

#include "profile/profile.h"
#include "profile/short_lives.h"

bool profile_process_is_exec(const struct profile *profile, size_t row)
{
	uint32_t parent = profile->processes[row].parent;

	return parent != PROCESS_NONE && parent < row &&
	       profile->processes[parent].pid == profile->processes[row].pid;
}

/* The thread that executes a program goes on as another row. */
static bool goes_on(const struct profile *profile, const struct profile_thread *thread)
{
	return thread->tid == profile->processes[thread->process].pid &&
	       profile_process_is_exec(profile, thread->process);
}

struct profile_tasks profile_count_tasks(const struct profile *profile)
{
	struct profile_tasks tasks = {0};

	for (size_t i = 0; i < profile->nr_processes; i++) {
		const struct profile_process *process = &profile->processes[i];

		tasks.nr_unseen += process->nr_unseen;
		if (!process_is_unseen(profile, process))
			tasks.nr_processes += !profile_process_is_exec(profile, i);
	}
	for (size_t i = 0; i < profile->nr_threads; i++)
		tasks.nr_threads +=
			profile->threads[i].tid && !goes_on(profile, &profile->threads[i]);
	return tasks;
}

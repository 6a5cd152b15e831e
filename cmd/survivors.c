// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/survivors.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "proc/read.h"
#include "proc/task.h"
#include "profile/profile.h"

struct survivor {
	pid_t pid;
	uint64_t start_ticks; /* an id may be another's later */
};

static bool is_alive(pid_t pid, uint64_t *start_ticks)
{
	struct proc_stat stat;

	if (!proc_read_task_stat(pid, pid, &stat) || strchr("ZX", stat.state))
		return false;
	*start_ticks = stat.start_ticks;
	return true;
}

static bool is_listed(const struct survivors *survivors, pid_t pid)
{
	for (size_t i = 0; i < survivors->nr; i++) {
		if (survivors->rows[i].pid == pid)
			return true;
	}
	return false;
}

/* The recording's own end is that of all who have none of their own. */
static uint64_t last_end_ns(const struct profile *profile)
{
	uint64_t last_ns = 0;

	for (size_t i = 0; i < profile->nr_processes; i++) {
		if (profile->processes[i].end_ns > last_ns)
			last_ns = profile->processes[i].end_ns;
	}
	return last_ns;
}

void survivors_init(struct survivors *survivors, const struct profile *profile)
{
	uint64_t end_ns = last_end_ns(profile);

	*survivors = (struct survivors){.rows = NULL};
	for (size_t i = 0; i < profile->nr_processes; i++) {
		const struct profile_process *process = &profile->processes[i];
		struct survivor row = {.pid = process->pid};

		if (process->end_ns != end_ns || is_listed(survivors, row.pid) ||
		    !is_alive(row.pid, &row.start_ticks))
			continue;
		ARRAY_GROW(survivors->rows, survivors->nr, survivors->cap);
		survivors->rows[survivors->nr++] = row;
	}
}

void survivors_release(struct survivors *survivors)
{
	free(survivors->rows);
	*survivors = (struct survivors){.rows = NULL};
}

pid_t *survivors_pids(const struct survivors *survivors, size_t *nr)
{
	pid_t *pids = xcalloc(survivors->nr, sizeof(*pids));
	size_t nr_alive = 0;

	for (size_t i = 0; i < survivors->nr; i++) {
		const struct survivor *row = &survivors->rows[i];
		uint64_t start_ticks;

		if (is_alive(row->pid, &start_ticks) && start_ticks == row->start_ticks)
			pids[nr_alive++] = row->pid;
	}
	*nr = nr_alive;
	return pids;
}

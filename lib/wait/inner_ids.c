// SPDX-License-Identifier: GPL-2.0-or-later
/* Maps thread ids inside a PID namespace to ours, from the status of each thread. */
#include "wait/inner_ids.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "proc/read.h"

/* Searches for new threads take at most this fraction of the time. */
#define PAUSE_PER_READING 100

void inner_ids_release(struct inner_ids *ids)
{
	for (size_t i = 0; i < INNER_PROCESSES; i++)
		free(ids->at[i].threads);
	*ids = (struct inner_ids){0};
}

static struct inner_process *find(struct inner_ids *ids, pid_t pid)
{
	struct inner_process *process;
	struct proc_status status;

	for (size_t i = 0; i < INNER_PROCESSES; i++) {
		if (ids->at[i].pid == pid)
			return &ids->at[i];
	}
	process = &ids->at[ids->next++ % INNER_PROCESSES];
	process->pid = pid;
	process->nr = 0;
	process->read_again_ns = 0;
	process->is_inner = proc_read_status(pid, &status) && status.nr_ns_pids > 1;
	return process;
}

static bool add_thread(void *context, pid_t tid)
{
	struct inner_process *process = context;
	struct proc_status status;

	if (!proc_read_status(tid, &status))
		return true;
	ARRAY_GROW(process->threads, process->nr, process->cap);
	process->threads[process->nr++] = (struct inner_id){.inner = status.ns_pid, .outer = tid};
	return true;
}

static pid_t outer_of(const struct inner_process *process, pid_t tid)
{
	for (size_t i = 0; i < process->nr; i++) {
		if (process->threads[i].inner == tid)
			return process->threads[i].outer;
	}
	return 0;
}

pid_t inner_ids_outer(struct inner_ids *ids, pid_t pid, pid_t tid)
{
	struct inner_process *process = find(ids, pid);
	uint64_t now_ns, began_ns;
	pid_t outer;

	if (!process->is_inner)
		return tid;
	outer = outer_of(process, tid);
	now_ns = clock_monotonic_ns();
	if (outer || now_ns < process->read_again_ns)
		return outer;
	process->nr = 0;
	began_ns = clock_thread_cpu_ns();
	proc_for_each_task(pid, add_thread, process);
	process->read_again_ns = now_ns + PAUSE_PER_READING * (clock_thread_cpu_ns() - began_ns);
	return outer_of(process, tid);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes that are about to end, among all with probes. */
#include "heap/heap_ring.h"
#include "probe/prober_priv.h"
#include "proc/read.h"

struct waiting {
	struct prober_exit *exit;
	bool is_found;
};

/* A forked child writes into the memory of its parent. In a PID namespace both have other ids. */
static pid_t known_pid(pid_t owner, pid_t own)
{
	struct proc_status status;

	return proc_read_status(owner, &status) && status.ns_pid == own ? owner : own;
}

/*
 * A child of vfork(2) that ends uses its parent's memory, which has the parent's id. The parent's
 * thread sleeps in the kernel meanwhile, and does not spin.
 */
static bool is_of_vfork(pid_t pid, pid_t owner, const struct heap_exit *exit)
{
	struct proc_stat stat;

	/* In another PID namespace the ids of threads mean others here, but for the main thread. */
	if (pid == owner && exit->pid != owner && exit->tid != exit->pid)
		return false;
	return proc_read_task_stat(pid, exit->tid == exit->pid ? pid : exit->tid, &stat) &&
	       stat.state == 'D';
}

static void find(void *context, uint32_t serial, pid_t pid, struct heap_ring *heap)
{
	struct waiting *waiting = context;
	struct heap_exit exit = {.place = 0};

	for (; !waiting->is_found && heap_exit_next(heap->shared, &exit); exit.place++) {
		pid_t known = known_pid(pid, exit.pid);

		if (is_of_vfork(known, pid, &exit)) {
			heap_exit_let_go(heap->shared, &exit);
			continue;
		}
		*waiting->exit = (struct prober_exit){
			.shared = heap->shared, .owner = serial, .waiting = exit, .pid = known};
		waiting->is_found = true;
	}
}

bool prober_next_exit(struct prober *prober, struct prober_exit *exit)
{
	struct waiting waiting = {.exit = exit};

	prober_for_each_heap(prober, find, &waiting);
	return waiting.is_found;
}

static void end(void *context, uint32_t serial, pid_t pid, struct heap_ring *heap)
{
	(void)context;
	(void)serial;
	(void)pid;
	heap_exit_end(heap->shared);
}

void prober_end_exits(struct prober *prober)
{
	pthread_mutex_lock(&prober->lock);
	prober->options.heap.is_searched = false; /* for probes that are installed later */
	pthread_mutex_unlock(&prober->lock);
	prober_for_each_heap(prober, end, NULL);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes that are about to end, among all with probes. */
#include "heap/heap_ring.h"
#include "probe/prober_priv.h"
#include "proc/read.h"

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

/* Under the prober's lock. */
static bool find(const struct probed_process *process, const struct heap_ring *ring,
		 struct prober_exit *found)
{
	struct heap_exit exit = {.place = 0};

	for (; heap_exit_next(ring->shared, &exit); exit.place++) {
		pid_t known = known_pid(process->pid, exit.pid);

		if (is_of_vfork(known, process->pid, &exit)) {
			heap_exit_let_go(ring->shared, &exit);
			continue;
		}
		*found = (struct prober_exit){.shared = ring->shared,
					      .owner = process->serial,
					      .waiting = exit,
					      .pid = known};
		return true;
	}
	return false;
}

bool prober_next_exit(struct prober *prober, struct prober_exit *exit)
{
	bool is_found = false;

	pthread_mutex_lock(&prober->lock);
	for (size_t i = 0; i < prober->nr_open && !is_found; i++) {
		const struct probed_process *process = prober->open[i];

		for (size_t k = 0; k < process->nr_probed && !is_found; k++) {
			const struct heap_ring *ring = prober_heap_of(&process->probed[k]);

			is_found = ring && find(process, ring, exit);
		}
	}
	pthread_mutex_unlock(&prober->lock);
	return is_found;
}

void prober_end_exits(struct prober *prober)
{
	pthread_mutex_lock(&prober->lock);
	prober->options.heap.is_searched = false; /* for probes that are installed later */
	for (size_t i = 0; i < prober->nr_open; i++) {
		const struct probed_process *process = prober->open[i];

		for (size_t k = 0; k < process->nr_probed; k++) {
			const struct heap_ring *ring = prober_heap_of(&process->probed[k]);

			if (ring)
				heap_exit_end(ring->shared);
		}
	}
	pthread_mutex_unlock(&prober->lock);
}

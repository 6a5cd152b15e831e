// SPDX-License-Identifier: GPL-2.0-or-later
/* When threads are due. */
#include "sampler/dues_priv.h"
#include "sampler/sampler_priv.h"

static void remove_due(struct sampled_thread *thread)
{
	if (thread->queue)
		due_queue_remove(thread->queue, &thread->due);
}

static void set_active(struct sampled_thread *thread, bool is_active)
{
	thread->process->nr_active += (size_t)is_active;
	thread->process->nr_active -= (size_t)thread->is_active;
	thread->is_active = is_active;
}

/* Also remove it from this tick's threads: an exec found in one thread ends the others. */
void due_forget(struct sampler *sampler, struct sampled_thread *thread)
{
	struct tick *tick = &sampler->tick;

	remove_due(thread);
	set_active(thread, false);
	for (size_t i = 0; i < tick->nr_cpus; i++) {
		if (tick->by_cpu[i] == thread)
			tick->by_cpu[i] = NULL;
	}
	for (size_t i = 0; i < tick->nr_running; i++) {
		if (tick->running[i] == thread)
			tick->running[i] = tick->running[--tick->nr_running];
	}
}

void due_put(struct sampler *sampler, struct sampled_thread *thread, bool is_active,
	     uint64_t due_ns)
{
	remove_due(thread);
	set_active(thread, is_active);
	thread->queue = is_active ? &sampler->active : &sampler->threads;
	due_queue_put(thread->queue, &thread->due, due_ns);
}

void due_at_once(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns)
{
	if (thread->due.place && thread->due.due_ns > now_ns)
		due_put(sampler, thread, thread->queue == &sampler->active, now_ns);
}

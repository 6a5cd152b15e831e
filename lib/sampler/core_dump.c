// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/core_dump_priv.h"

#include <unistd.h>

#include "base/clock.h"
#include "proc/read.h"
#include "sampler/dues_priv.h"
#include "sampler/publish_priv.h"
#include "sampler/sampler_priv.h"
#include "sampler/visiting_priv.h"
#include "sampler/visitor_priv.h"
#include "snapshot/snapshot.h"

/* A thread that writes a core is in do_coredump() until it exits, and keeps the flag. */
static bool is_writing(const struct proc_stat *stat)
{
	return (stat->flags & PROC_FLAG_DUMPS_CORE) && !(stat->flags & PROC_FLAG_EXITING);
}

/* The others wait until it is written: on their way to their end, in some versions behind it. */
static bool is_waiting(const struct proc_stat *stat)
{
	return (stat->flags & (PROC_FLAG_LEAVING | PROC_FLAG_EXITING)) &&
	       !(stat->flags & PROC_FLAG_DUMPS_CORE) && stat->state != 'R';
}

void core_dump_see(struct sampler *sampler, struct sampled_thread *thread,
		   const struct proc_stat *stat)
{
	struct sampled_process *process = thread->process;
	struct session *session = sampler->session;
	const uint64_t one = 1;

	if (process->dumps_core || !(stat->flags & PROC_FLAG_DUMPS_CORE))
		return;
	process->dumps_core = true;
	if (!is_writing(stat) && process->roster->pid == sampler->options.targets.command)
		return;
	atomic_store(&session->events.core_is_over, !is_writing(stat));
	atomic_store(&session->events.core_pid, process->roster->pid);
	for (struct roster_thread *other = process->roster->threads; other; other = other->next)
		due_at_once(sampler, other->owner, sampler->tick.now_ns);
	if (write(session->events.core_fd, &one, sizeof(one)) < 0)
		return; /* an eventfd of ours takes a 1 */
}

bool core_dump_is_under_way(const struct sampled_thread *thread)
{
	return thread->process->dumps_core;
}

bool core_dump_sample(struct visitor *visitor, struct sampled_thread *thread,
		      const struct proc_schedstat *clocks, const struct proc_stat *stat)
{
	struct sampler *sampler = visitor->sampler;
	struct snapshot *snapshot = visitor->snapshot;
	bool is_running = stat->state == 'R';

	if (!thread->process->dumps_core || (!is_writing(stat) && !is_waiting(stat)) ||
	    !tracee_copy_last(&thread->roster->tracee, visit_stack_limit(thread), stat, snapshot))
		return false;
	snapshot->cpu_ns = clocks->cpu_ns;
	snapshot->runq_ns = clocks->runq_ns;
	snapshot->pcount = clocks->pcount;
	seen_wait_release(&thread->sleep.wait);
	book_met(thread, sampler->tick.now_ns);
	thread->was_running = is_running;
	due_put(sampler, thread, is_running, sampler->tick.now_ns + 1);
	if (is_running)
		book_ran(thread);
	places_ask(sampler, thread, snapshot);
	publish_sample(sampler, thread, snapshot, is_running ? SEEN_RUNNING : SEEN_BLOCKED);
	thread->sleep.is_known = !is_running; /* no stop has driven it off its CPU */
	thread->sleep.has_registers = true;   /* all that there ever will be */
	return true;
}

/* A stop mostly comes sooner, or its process is known to write a core. */
#define LATE_STOP_NS (10 * NS_PER_MS)

void core_dump_sample_awaited(struct visitor *visitor, struct sampled_thread *thread)
{
	struct sampler *sampler = visitor->sampler;
	/* The visitor has it until the thread stops, which it does no more once it has left. */
	struct tracee *tracee = &thread->roster->tracee;
	uint64_t since_ns = atomic_load(&thread->visitor->busy_since_ns);
	struct proc_schedstat clocks;
	struct proc_stat stat;

	if (!thread->process->dumps_core && sampler->tick.now_ns < since_ns + LATE_STOP_NS)
		return;
	if (!proc_read_task_stat(tracee->tgid, tracee->tid, &stat))
		return;
	core_dump_see(sampler, thread, &stat);
	if (!thread->process->dumps_core || (!is_writing(&stat) && !is_waiting(&stat)) ||
	    !tracee_clocks(tracee, &clocks))
		return;
	book_note_clocks(thread, &clocks, sampler->tick.now_ns);
	core_dump_sample(visitor, thread, &clocks, &stat);
}

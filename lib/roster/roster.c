// SPDX-License-Identifier: GPL-2.0-or-later
/* The known processes and threads, and their ends and execs. */
#include "roster/roster.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "proc/program.h"
#include "proc/read.h"
#include "roster/roster_priv.h"

struct roster *roster_new(const struct roster_listener *listener, bool follow_children,
			  pid_t helper)
{
	struct roster *roster = xcalloc(1, sizeof(*roster));

	roster->listener = *listener;
	roster->follow_children = follow_children;
	roster->helper = helper;
	roster->own_pid = getpid();
	roster->host = tracee_host_new();
	roster->loadavg_fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	return roster;
}

static void free_process(struct roster_process *process)
{
	while (process->threads) {
		struct roster_thread *thread = process->threads;

		process->threads = thread->next;
		roster_release_thread(thread);
	}
	free(process);
}

static void free_joining(struct joining *joining)
{
	if (!joining)
		return;
	if (joining->scan)
		closedir(joining->scan);
	pid_table_release(&joining->refused);
	free(joining);
}

void roster_free(struct roster *roster)
{
	if (!roster)
		return;
	for (size_t i = 0; i < roster->nr_processes; i++)
		free_process(roster->processes[i]);
	free(roster->processes);
	pid_table_release(&roster->by_pid);
	pid_table_release(&roster->by_tid);
	pid_table_release(&roster->others);
	pid_table_release(&roster->births.ended);
	if (roster->loadavg_fd >= 0)
		close(roster->loadavg_fd);
	tracee_host_free(roster->host);
	free_joining(roster->joining);
	free(roster);
}

void roster_release_thread(struct roster_thread *thread)
{
	tracee_close(&thread->tracee);
	free(thread);
}

void roster_add_thread(struct roster *roster, struct roster_process *process, pid_t tid,
		       bool is_new)
{
	struct roster_thread *thread = xcalloc(1, sizeof(*thread));

	tracee_open(&thread->tracee, roster->host, process->pid, tid);
	thread->process = process;
	thread->next = process->threads;
	process->threads = thread;
	process->nr_threads++;
	roster->births.nr_others += is_new && tid != process->pid;
	pid_table_set(&roster->by_tid, tid, thread);
	roster->listener.thread_born(roster->listener.context, thread, is_new);
}

struct adding {
	struct roster *roster;
	struct roster_process *process;
	bool is_new;
};

static bool is_alive(pid_t tgid, pid_t tid)
{
	struct proc_stat stat;

	return proc_read_task_stat(tgid, tid, &stat) && stat.state != 'Z' && stat.state != 'X';
}

static bool add_if_unknown(void *context, pid_t tid)
{
	const struct adding *adding = context;

	if (!pid_table_get(&adding->roster->by_tid, tid) && is_alive(adding->process->pid, tid))
		roster_add_thread(adding->roster, adding->process, tid, adding->is_new);
	return true;
}

void roster_add_threads(struct roster *roster, struct roster_process *process, bool is_new)
{
	struct adding adding = {.roster = roster, .process = process, .is_new = is_new};

	proc_for_each_task(process->pid, add_if_unknown, &adding);
}

static void adopt(struct roster_process *parent, struct roster_process *child)
{
	child->parent = parent;
	child->older = parent ? parent->children : NULL;
	child->younger = NULL;
	if (child->older)
		child->older->younger = child;
	if (parent)
		parent->children = child;
}

static void leave_parent(struct roster_process *child)
{
	if (child->older)
		child->older->younger = child->younger;
	if (child->younger)
		child->younger->older = child->older;
	else if (child->parent)
		child->parent->children = child->older;
}

bool roster_is_dead(pid_t pid)
{
	struct proc_stat stat;

	return !proc_read_task_stat(pid, pid, &stat) || (stat.state == 'Z' && stat.nr_threads <= 1);
}

/* Families are rarely deeper; beyond this the order of ends is not known. */
#define GENERATIONS_MAX 64

/*
 * Ends are found some time after them, in any order. A process mostly waits for its children: those
 * that are dead when its end is found have ended before it.
 */
static void find_dead_children(struct roster_process *process, uint64_t now_ns,
			       unsigned int nr_generations)
{
	struct roster_process *child;

	for (child = process->children; child; child = child->older) {
		if (child->dead_ns || !roster_is_dead(child->pid))
			continue;
		child->dead_ns = now_ns;
		if (nr_generations > 1)
			find_dead_children(child, now_ns, nr_generations - 1);
	}
}

struct roster_process *roster_add_process(struct roster *roster, const struct proc_stat *stat,
					  struct roster_process *parent, enum roster_origin origin)
{
	struct roster_process *process = xcalloc(1, sizeof(*process));

	process->pid = stat->pid;
	process->origin = origin;
	process->start_ticks = stat->start_ticks;
	process->program = proc_program_id(stat->pid, stat->pid);
	process->program_mark = stat->program_mark;
	process->born_ns = process->program_read_ns = clock_monotonic_ns();
	ARRAY_GROW(roster->processes, roster->nr_processes, roster->cap_processes);
	process->index = roster->nr_processes;
	roster->processes[roster->nr_processes++] = process;
	pid_table_set(&roster->by_pid, process->pid, process);
	adopt(roster_find_process(roster, stat->ppid), process);
	roster->listener.process_born(roster->listener.context, process, parent,
				      origin == ROSTER_EXECED);
	return process;
}

bool roster_add(struct roster *roster, const struct proc_stat *stat, struct roster_process *parent,
		enum roster_origin origin)
{
	struct roster_process *process = roster_add_process(roster, stat, parent, origin);

	roster_add_threads(roster, process, origin == ROSTER_BORN || origin == ROSTER_JOINED);
	if (process->threads)
		return true;
	roster_end_process(roster, process);
	return false;
}

void roster_end_process(struct roster *roster, struct roster_process *process)
{
	struct roster_process *last = roster->processes[--roster->nr_processes];
	struct roster_process *heir, *child;

	find_dead_children(process, clock_monotonic_ns(), GENERATIONS_MAX);
	roster->processes[process->index] = last;
	last->index = process->index;
	if (pid_table_get(&roster->by_pid, process->pid) == process)
		pid_table_remove(&roster->by_pid, process->pid);
	pid_table_set(&roster->births.ended, process->pid, roster);
	heir = roster_find_process(roster, process->pid); /* the same process after an exec */
	if (!roster->nr_processes && roster->joining)
		roster->joining->joined.nr_gone++;
	leave_parent(process);
	while ((child = process->children)) {
		leave_parent(child);
		adopt(heir, child);
	}
	roster->listener.process_gone(roster->listener.context, process);
	free(process);
}

static void unlink_thread(struct roster *roster, struct roster_thread *thread)
{
	struct roster_thread **link = &thread->process->threads;

	while (*link != thread)
		link = &(*link)->next;
	*link = thread->next;
	thread->process->nr_threads--;
	if (pid_table_get(&roster->by_tid, thread->tracee.tid) == thread)
		pid_table_remove(&roster->by_tid, thread->tracee.tid);
}

static void end_thread(struct roster *roster, struct roster_thread *thread)
{
	unlink_thread(roster, thread);
	roster->listener.thread_gone(roster->listener.context, thread);
}

void roster_forget(struct roster *roster, struct roster_process *process)
{
	while (process->threads)
		end_thread(roster, process->threads);
	roster_end_process(roster, process);
}

void roster_thread_gone(struct roster *roster, struct roster_thread *thread)
{
	struct roster_process *process = thread->process;

	end_thread(roster, thread);
	if (!process->threads && proc_exists(process->pid))
		roster_add_threads(roster, process, true); /* others may have been born unseen */
	if (!process->threads)
		roster_end_process(roster, process);
}

void roster_recount(struct roster *roster, struct roster_process *process)
{
	struct roster_thread *thread, *next;
	struct proc_schedstat clocks;

	for (thread = process->threads; thread; thread = next) {
		next = thread->next;
		if (!next && process->threads == thread)
			return; /* the last one's end is that of the process: roster_thread_gone()
				 */
		if (!tracee_clocks(&thread->tracee, &clocks))
			end_thread(roster, thread);
	}
}

/*
 * Ids of programs take some microseconds to read, and most execs come soon after a fork: so read
 * them when an eighth of the age of a process has passed, and every 10 ms for an old one. An exec
 * in between is found at the next reading.
 */
#define PROGRAM_PAUSE_NS (10 * NS_PER_MS)
#define AGE_PER_PAUSE	 8

static void begin_new_life(struct roster *roster, struct roster_process *former)
{
	struct proc_stat stat;
	struct roster_process *process;

	if (!proc_read_task_stat(former->pid, former->pid, &stat))
		return; /* gone by now; the end of its threads shows that */
	process = roster_add_process(roster, &stat, former, ROSTER_EXECED);
	while (former->threads)
		end_thread(roster, former->threads);
	roster_end_process(roster, former);
	roster_add_threads(roster, process, false);
	if (!process->threads)
		roster_end_process(roster, process); /* it has ended meanwhile */
}

bool roster_is_in_program(struct roster *roster, struct roster_process *process,
			  const struct proc_stat *stat, bool is_suspect, uint64_t now_ns)
{
	uint64_t age_ns = process->program_read_ns - process->born_ns;
	uint64_t again_ns =
		process->program_read_ns + min_u64(age_ns / AGE_PER_PAUSE, PROGRAM_PAUSE_NS);
	uint64_t program;

	/* The stack of each program begins at a random place, and most code does. */
	if (stat && stat->program_mark) {
		is_suspect |= stat->program_mark != process->program_mark;
		process->program_mark = stat->program_mark;
		process->program_read_ns = now_ns;
		again_ns = UINT64_MAX;
	}
	if (!is_suspect && now_ns < again_ns)
		return true;
	process->program_read_ns = now_ns;
	program = proc_program_id(process->pid, process->pid);
	/* An ended leader has no program. */
	if (!program || program == process->program)
		return true;
	if (!process->program) {
		process->program = program;
		return true;
	}
	begin_new_life(roster, process);
	return false;
}

struct roster_thread *roster_find_thread(const struct roster *roster, pid_t tid)
{
	return pid_table_get(&roster->by_tid, tid);
}

struct roster_process *roster_find_process(const struct roster *roster, pid_t pid)
{
	return pid_table_get(&roster->by_pid, pid);
}

size_t roster_nr_processes(const struct roster *roster)
{
	return roster->nr_processes;
}

struct roster_process *roster_process_at(const struct roster *roster, size_t index)
{
	return roster->processes[index];
}

bool roster_process_cpu_ns(const struct roster_process *process, uint64_t *cpu_ns)
{
	uint64_t now_ns;

	if (!clock_process_cpu_ns(process->pid, &now_ns))
		return false;
	*cpu_ns = now_ns;
	return true;
}

bool roster_is_child(const struct roster *roster, const struct proc_stat *stat)
{
	return roster->follow_children && stat->pid != getpid() &&
	       (stat->state != 'Z' || stat->nr_threads > 1) &&
	       roster_find_process(roster, stat->ppid);
}

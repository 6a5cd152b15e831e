// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the threads that make long transfers, which a stop would cut short, and the processes that
 * may be killed for a stop of a thread that gets signals.
 */
#include "sampler/guard_priv.h"

#include "base/clock.h"
#include "proc/read.h"
#include "sampler/dues_priv.h"
#include "sampler/records.h"
#include "syscall/traits.h"
#include "tracee/transfer.h"
#include "tracee/visit.h"

/* A thread that makes a long transfer makes more: it counts as such for so many visits. */
#define GUARDED_VISITS 256

/* For root, for which it costs no samples, new threads of such a process count so at first. */
#define NEW_GUARDED_VISITS 16

void guard_new_thread(struct sampled_thread *thread, bool sees_stacks)
{
	if (thread->process->guard.makes_transfers && sees_stacks)
		thread->habits.nr_guarded = NEW_GUARDED_VISITS;
}

void guard_transfer(struct sampled_thread *thread, bool sees_stacks)
{
	struct sampled_process *process = thread->process;

	if (!process->guard.makes_transfers) {
		process->guard.makes_transfers = true;
		for (struct roster_thread *other = process->roster->threads; other;
		     other = other->next)
			guard_new_thread(other->owner, sees_stacks);
	}
	thread->habits.nr_guarded = GUARDED_VISITS;
}

bool guard_call(struct sampled_thread *thread, const struct proc_syscall *syscall, bool is_asleep,
		bool sees_stacks)
{
	struct call_habits *habits = &thread->habits;
	pid_t pid = thread->process->roster->pid;
	bool is_transfer = (transfer_is_made(pid, syscall) ||
			    (is_asleep && transfer_waits_for_room(pid, syscall))) &&
			   !transfer_never_waits(pid, syscall);

	if (is_transfer)
		guard_transfer(thread, sees_stacks);
	else if (habits->nr_guarded)
		habits->nr_guarded--;
	return is_transfer;
}

/*
 * Programs install filters when they begin, and threads have those of the thread that made them. To
 * read a status takes three microseconds.
 */
#define FILTERS_AGAIN_NS (250 * NS_PER_MS)
#define FILTERED_THREADS 7 /* the youngest, beside the leader */

/* One that has had children has more. */
static bool is_addressee(struct sampled_thread *thread)
{
	const struct tracee *tracee = &thread->roster->tracee;

	if (tracee->tid == tracee->tgid)
		return true;
	if (!thread->habits.has_children)
		thread->habits.has_children = proc_has_children(tracee->tgid, tracee->tid);
	return thread->habits.has_children;
}

static bool are_unread(const struct stop_guard *guard)
{
	return guard->nr_known < guard->nr_filters;
}

bool guard_wants_filters(struct sampled_thread *thread)
{
	return are_unread(&thread->process->guard) && !is_addressee(thread);
}

bool guard_begins_visit(struct sampled_thread *thread)
{
	struct stop_guard *guard = &thread->process->guard;

	/* It is for the stop of one that would not be stopped otherwise. */
	if (guard->reads_anyway && is_addressee(thread))
		guard->reads_anyway = false;
	return are_unread(guard);
}

static uint32_t nr_filters_of(pid_t tid)
{
	struct proc_status status;

	return proc_read_status(tid, &status) ? status.nr_filters : 0;
}

/* May a thread wait in such a call, now or soon? */
static bool may_be_continued(const struct sampled_thread *thread)
{
	const struct seen_sleep *sleep = &thread->sleep;

	return !sleep->is_known || !sleep->is_asleep || syscall_is_continued(sleep->syscall_nr);
}

/*
 * Where signals may go to each thread that has them, no other stop will ever show the filters,
 * which mostly are harmless: after this time such a thread is stopped all the same.
 */
#define UNREAD_NS NS_PER_SEC

/*
 * Will filters be read at a stop of a thread to which no signals go? Threads may have fewer than
 * the main one: it can have installed them for itself, after they began.
 */
static bool will_be_read(const struct sampled_process *process)
{
	const struct roster_thread *thread = process->roster->threads;

	for (; thread; thread = thread->next) {
		if (may_be_continued(thread->owner) &&
		    nr_filters_of(thread->tracee.tid) > process->guard.nr_known &&
		    !is_addressee(thread->owner))
			return true;
	}
	return false;
}

static void ask_for_filters(struct sampler *sampler, struct sampled_process *process,
			    uint64_t now_ns)
{
	struct stop_guard *guard = &process->guard;

	if (!guard->unread_from_ns)
		guard->unread_from_ns = now_ns;
	if (!will_be_read(process)) {
		guard->reads_anyway = now_ns - guard->unread_from_ns >= UNREAD_NS;
		return;
	}
	guard->reads_anyway = false;
	for (struct roster_thread *thread = process->roster->threads; thread; thread = thread->next)
		due_at_once(sampler, thread->owner, now_ns);
}

static void count_filters(struct sampler *sampler, struct sampled_process *process, uint64_t now_ns)
{
	struct stop_guard *guard = &process->guard;
	struct roster_thread *thread = process->roster->threads;

	guard->filters_again_ns = now_ns + FILTERS_AGAIN_NS;
	guard->nr_filters = nr_filters_of(process->roster->pid);
	for (size_t i = 0; thread && i < FILTERED_THREADS; i++, thread = thread->next) {
		uint32_t nr = nr_filters_of(thread->tracee.tid);

		if (nr > guard->nr_filters)
			guard->nr_filters = nr;
	}
	if (are_unread(guard))
		ask_for_filters(sampler, process, now_ns);
	else
		guard->unread_from_ns = 0;
}

static bool others_may_be_continued(const struct sampled_thread *addressee)
{
	const struct roster_thread *thread = addressee->process->roster->threads;

	for (; thread; thread = thread->next) {
		if (thread->owner != addressee && may_be_continued(thread->owner))
			return true;
	}
	return false;
}

bool guard_addressee(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns)
{
	struct sampled_process *process = thread->process;
	struct stop_guard *guard = &process->guard;

	if (process->roster->nr_threads < 2)
		return false;
	if (now_ns >= guard->filters_again_ns)
		count_filters(sampler, process, now_ns);
	if (!guard->forbids_restart && (guard->reads_anyway || !are_unread(guard)))
		return false;
	return is_addressee(thread) && (guard->forbids_restart || others_may_be_continued(thread));
}

void guard_read_filters(struct sampled_process *process, const struct visit *visit)
{
	struct stop_guard *guard = &process->guard;

	/* Nor will it ever show them. */
	if (visit->filters == VISIT_FILTERS_HIDDEN)
		guard->nr_known = UINT32_MAX;
	if (visit->filters == VISIT_FILTERS_FORBID)
		guard->forbids_restart = true;
	if (visit->nr_filters > guard->nr_known)
		guard->nr_known = visit->nr_filters;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the threads that make long transfers, which a stop would cut short. */
#include "sampler/guard_priv.h"
#include "sampler/records.h"
#include "tracee/transfer.h"

/* A thread that makes a long transfer makes more: it counts as such for so many visits. */
#define GUARDED_VISITS 256

/* For root, for which it costs no samples, new threads of such a process count so at first. */
#define NEW_GUARDED_VISITS 16

void guard_new_thread(struct sampled_thread *thread, bool sees_stacks)
{
	if (thread->process->makes_transfers && sees_stacks)
		thread->habits.nr_guarded = NEW_GUARDED_VISITS;
}

void guard_transfer(struct sampled_thread *thread, bool sees_stacks)
{
	struct sampled_process *process = thread->process;

	if (!process->makes_transfers) {
		process->makes_transfers = true;
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

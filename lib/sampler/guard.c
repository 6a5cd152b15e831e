// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the threads that make long transfers, which a stop would cut short. */
#include "sampler/guard_priv.h"
#include "sampler/sampler_priv.h"
#include "tracee/transfer.h"

/* A thread that makes a long transfer makes more: it counts as such for so many visits. */
#define GUARDED_VISITS 256

/* For root, for which it costs no samples, new threads of such a process count so at first. */
#define NEW_GUARDED_VISITS 16

void guard_new_thread(const struct sampler *sampler, struct sampled_thread *thread)
{
	if (thread->process->makes_transfers && sampler->session->sees_kernel_stacks)
		thread->habits.nr_guarded = NEW_GUARDED_VISITS;
}

void guard_transfer(const struct sampler *sampler, struct sampled_thread *thread)
{
	struct sampled_process *process = thread->process;

	if (!process->makes_transfers) {
		process->makes_transfers = true;
		for (struct roster_thread *other = process->roster->threads; other;
		     other = other->next)
			guard_new_thread(sampler, other->owner);
	}
	thread->habits.nr_guarded = GUARDED_VISITS;
}

bool guard_call(const struct sampler *sampler, struct sampled_thread *thread,
		const struct proc_syscall *syscall, bool is_asleep)
{
	struct call_habits *habits = &thread->habits;
	pid_t pid = thread->process->roster->pid;
	bool is_transfer = (transfer_is_made(pid, syscall) ||
			    (is_asleep && transfer_waits_for_room(pid, syscall))) &&
			   !transfer_never_waits(pid, syscall);

	if (is_transfer)
		guard_transfer(sampler, thread);
	else if (habits->nr_guarded)
		habits->nr_guarded--;
	return is_transfer;
}

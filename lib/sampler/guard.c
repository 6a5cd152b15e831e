// SPDX-License-Identifier: GPL-2.0-or-later
/* Which threads make long transfers, that a stop would cut short. */
#include <stdio.h>
#include <string.h>

#include "proc/read.h"
#include "sampler/sampler_priv.h"
#include "syscall/traits.h"

/* A thread that makes one long transfer makes more: for so many visits it is taken to do so. */
#define GUARDED_VISITS 256

/* As root, where that costs no samples, others of its process are first watched for it. */
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

/* A terminal may have given it a part by now, which it would return (VMIN of termios(3)). */
static bool reads_device(const struct sampled_thread *thread, const struct proc_syscall *syscall)
{
	static const char devices[] = "/dev/";
	char name[32], target[sizeof(devices)];

	if (!syscall_reads(syscall->nr))
		return false;
	snprintf(name, sizeof(name), "fd/%d", (int)syscall->args[0]);
	return proc_read_process_link(thread->process->roster->pid, name, target, sizeof(target)) &&
	       strcmp(target, devices) == 0;
}

bool guard_call(const struct sampler *sampler, struct sampled_thread *thread,
		const struct proc_syscall *syscall)
{
	struct call_habits *habits = &thread->habits;
	bool is_transfer =
		syscall->kind == PROC_SYSCALL_INSIDE &&
		(syscall_transfers(syscall->nr, syscall->args) || reads_device(thread, syscall));

	if (is_transfer)
		guard_transfer(sampler, thread);
	else if (habits->nr_guarded)
		habits->nr_guarded--;
	return is_transfer;
}

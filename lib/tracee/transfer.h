/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TRACEE_TRANSFER_H
#define PROFC_TRACEE_TRANSFER_H

#include <stdbool.h>
#include <sys/types.h>

struct proc_syscall;
struct tracee;

/*
 * Transfers that a stop would cut short (syscall/traits.h), as far as /proc shows them. Nothing is
 * stopped.
 */

/* Does a thread of `pid` that is in this call move bytes, many or for long? */
bool transfer_is_made(pid_t pid, const struct proc_syscall *syscall);
/* While it sleeps in the call, does it wait to write the rest, however little that is? */
bool transfer_waits_for_room(pid_t pid, const struct proc_syscall *syscall);
/* Is it one that waits for nothing, as its socket or pipe has O_NONBLOCK, so that nothing cuts it?
 */
bool transfer_never_waits(pid_t pid, const struct proc_syscall *syscall);
/* Does it read or write a file, in a file system of which is known that no stop cuts that? */
bool transfer_is_of_file(pid_t pid, const struct proc_syscall *syscall);
/*
 * While it sleeps in the call, may it have moved some bytes, which it would return if it were
 * stopped? True also for a connection that is being made: making it again would fail.
 */
bool transfer_is_begun(pid_t pid, const struct proc_syscall *syscall);

/* Where a thread is, as its kernel stack shows if we may see it. */
enum transfer_stack {
	TRANSFER_STACK_HIDDEN, /* it is on a CPU, or we may not see it */
	TRANSFER_STACK_AMID,   /* inside of a transfer */
	TRANSFER_STACK_OUTSIDE,
};

enum transfer_stack transfer_on_stack(pid_t pid, pid_t tid);
/* For a thread that is asked again and again: its file stays open. */
enum transfer_stack transfer_of_tracee(struct tracee *tracee);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYSCALL_TRAITS_H
#define PROFC_SYSCALL_TRAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Traits of Linux calls, as far as a stop could change their results. Measured with a thread in
 * each of 97 blocking calls: most are restarted by the kernel unseen, some return EINTR, which the
 * fix-up of a visit undoes, and transfers return their length so far, which nothing can undo.
 * Tables of this machine's numbers; no ptrace, no /proc.
 */

/* May it sleep until something happens? Negative numbers are no calls. */
bool syscall_waits(int64_t nr);

/*
 * Does it move bytes, and return early with those moved so far when it is interrupted? Depends on
 * its arguments: short transfers are over before that matters.
 */
bool syscall_transfers(int64_t nr, const uint64_t args[6]);

/* How many bytes a write(2) or a send(2) is to move; 0 for other calls. */
uint64_t syscall_written_bytes(int64_t nr, const uint64_t args[6]);

/* Does it continue by itself after an interruption, so that calling it again is an error? */
bool syscall_goes_on(int64_t nr);
/*
 * Does the kernel continue it by restart_syscall(2) where a signal without a handler has
 * interrupted it, with a time-out at least?
 */
bool syscall_is_continued(int64_t nr);
/* Does it read from the descriptor that is its first argument? */
bool syscall_reads(int64_t nr);
/*
 * Is its first argument a descriptor whose O_NONBLOCK it obeys? With that, of a socket or a pipe,
 * it looks for signals nowhere, as it does so only where it would wait. sendfile(2) and splice(2)
 * look for them before they ask. pread(2) and pwrite(2) fail there.
 */
bool syscall_obeys_flag(int64_t nr);
/*
 * Is a thread that sleeps in this call, with these arguments, restarted invisibly when it is
 * stopped and resumed: no EINTR, no short transfer, the end of its timeout unchanged?
 */
bool syscall_restarts_unseen(int64_t nr, const uint64_t args[6]);

/*
 * Does this text of /proc/TID/stack (one "[<0>] function+0x.../0x..." a line, innermost first) show
 * a thread in the middle of a transfer? The kernel shows it to CAP_SYS_ADMIN only, and only for
 * threads that are on no CPU; an empty text shows nothing.
 */
bool kernel_stack_shows_transfer(const char *text, size_t nr_bytes);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TARGET_KERNEL_STACK_H
#define PROFC_TARGET_KERNEL_STACK_H

#include <stddef.h>

/*
 * Where a thread that is on no CPU left off in the kernel, by the text of its
 * /proc/PID/stack: one "[<0>] function+0x.../0x..." a line, innermost first. The kernel
 * shows it to those with CAP_SYS_ADMIN only, and of a thread on a CPU it shows nothing.
 */
enum kernel_place {
	KERNEL_PLACE_UNKNOWN,	 /* no text: on a CPU, or nothing may be known */
	KERNEL_PLACE_USER,	 /* driven off its CPU in its own code, or on its way back there */
	KERNEL_PLACE_CALL,	 /* in a system call that a stop does no harm to */
	KERNEL_PLACE_SOCKET,	 /* in one that a stop harms if it moves much or has a timeout */
	KERNEL_PLACE_WAITING,	 /* woken in such a one: not gone on yet */
	KERNEL_PLACE_TIMED_WAIT, /* likewise in a wait whose timeout would begin anew */
	KERNEL_PLACE_SHORT_WAIT, /* in one that a stop ends too early, as its thread makes it */
	KERNEL_PLACE_TRANSFER,	 /* in one that a stop cuts short */
};

enum kernel_place kernel_stack_place(const char *text, size_t nr_bytes);

#endif

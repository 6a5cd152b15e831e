// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/kernel_stack.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

/* Parts of function names, for both processors; names of several kernels (5.10 to 6.18). */
static const char *const in_system_call[] = {
	"do_syscall_64",
	"do_fast_syscall_32",
	"do_int80_syscall",
	"el0_svc",
};

/* The call is done, its result is written. */
static const char *const leaving[] = {
	"exit_to_user_mode_loop",
	"exit_to_user_mode_prepare",
	"do_notify_resume",
};

/* Above a system call's frames: it did not wait, it was driven off its CPU while it worked. */
static const char *const interrupts[] = {
	"asm_sysvec",
	"asm_common_interrupt",
	"el1h_64_irq",
	"el1_interrupt",
};

/* These go on for as long as there is work, and look for signals at each page. */
static const char *const transfers[] = {
	"read_zero",   "read_iter_zero", "get_random", "urandom_read",	   "random_read",
	"do_sendfile", "splice_",	 "do_splice",  "iter_file_splice",
};

static const char *const sockets_and_pipes[] = {
	"pipe_write",	  "sock_write_iter", "__sys_sendto", "sys_sendmsg",  "sys_sendmmsg",
	"sock_read_iter", "__sys_recvfrom",  "sys_recvmsg",  "sys_recvmmsg", "accept",
};

/* Some wait for what was asked for, some do not. */
static const char *const short_waits[] = {"tty_read", "tty_write", "io_uring_enter"};

/* Timeouts that would begin anew. */
static const char *const timed_waits[] = {
	"ep_poll",     "do_epoll_wait", "poll_schedule_timeout",
	"read_events", "semtimedop",	"sigtimedwait",
};

struct table {
	const char *const *names;
	size_t nr;
};

#define TABLE(names) ((struct table){names, ARRAY_SIZE(names)})

static bool names_any(const char *text, size_t nr_bytes, struct table table)
{
	for (size_t i = 0; i < table.nr; i++) {
		if (memmem(text, nr_bytes, table.names[i], strlen(table.names[i])))
			return true;
	}
	return false;
}

enum kernel_place kernel_stack_place(const char *text, size_t nr_bytes)
{
	bool worked;

	if (!nr_bytes)
		return KERNEL_PLACE_UNKNOWN;
	if (!names_any(text, nr_bytes, TABLE(in_system_call)) ||
	    names_any(text, nr_bytes, TABLE(leaving)))
		return KERNEL_PLACE_USER;
	if (names_any(text, nr_bytes, TABLE(transfers)))
		return KERNEL_PLACE_TRANSFER;
	worked = names_any(text, nr_bytes, TABLE(interrupts));
	if (names_any(text, nr_bytes, TABLE(sockets_and_pipes)))
		return worked ? KERNEL_PLACE_SOCKET : KERNEL_PLACE_WAITING;
	if (names_any(text, nr_bytes, TABLE(short_waits)))
		return worked ? KERNEL_PLACE_SHORT_WAIT : KERNEL_PLACE_WAITING;
	if (!worked && names_any(text, nr_bytes, TABLE(timed_waits)))
		return KERNEL_PLACE_TIMED_WAIT;
	return KERNEL_PLACE_CALL;
}

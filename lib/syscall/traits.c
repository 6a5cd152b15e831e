// SPDX-License-Identifier: GPL-2.0-or-later
#include "syscall/traits.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/alloc.h"

enum trait {
	WAITS = 1,
	TRANSFERS = 2,
	RESTARTS = 4,		/* unseen, for any arguments */
	RESTARTS_NULL = 8,	/* unseen if the pointer to the timeout is NULL, */
	RESTARTS_NEGATIVE = 16, /* or if the int is negative */
	OBEYS_FLAG = 32,	/* O_NONBLOCK of its first argument */
	CONTINUED = 64,		/* by restart_syscall(2) */
};

struct row {
	long nr;
	unsigned int traits;
	unsigned int timeout; /* its argument number for the last two */
};

static const struct row rows[] = {
	{SYS_futex, WAITS | RESTARTS | CONTINUED, 0},
	{SYS_nanosleep, WAITS | RESTARTS | CONTINUED, 0},
	{SYS_clock_nanosleep, WAITS | RESTARTS | CONTINUED, 0},
	{SYS_restart_syscall, WAITS | RESTARTS | CONTINUED, 0},
	{SYS_wait4, WAITS | RESTARTS, 0},
	{SYS_waitid, WAITS | RESTARTS, 0},
	{SYS_ppoll, WAITS | RESTARTS, 0},
	{SYS_pselect6, WAITS | RESTARTS, 0},
	{SYS_accept, WAITS | RESTARTS, 0},
	{SYS_accept4, WAITS | RESTARTS, 0},
	{SYS_connect, WAITS, 0},
	{SYS_flock, WAITS | RESTARTS, 0},
	{SYS_fcntl, WAITS | RESTARTS, 0},
	{SYS_openat, WAITS | RESTARTS, 0},
	{SYS_msgrcv, WAITS | RESTARTS, 0},
	{SYS_msgsnd, WAITS | RESTARTS, 0},
	{SYS_semop, WAITS | RESTARTS, 0},
	{SYS_semtimedop, WAITS | RESTARTS_NULL, 3},
	{SYS_rt_sigsuspend, WAITS | RESTARTS, 0},
	{SYS_rt_sigtimedwait, WAITS | RESTARTS_NULL, 2},
	{SYS_epoll_pwait, WAITS | RESTARTS_NEGATIVE, 3},
	{SYS_mq_timedreceive, WAITS, 0},
	{SYS_mq_timedsend, WAITS, 0},
	{SYS_io_getevents, WAITS, 0},
	{SYS_io_uring_enter, WAITS | TRANSFERS, 0},
	{SYS_read, WAITS | TRANSFERS | RESTARTS | OBEYS_FLAG, 0},
	{SYS_readv, WAITS | TRANSFERS | OBEYS_FLAG, 0},
	{SYS_pread64, TRANSFERS | OBEYS_FLAG, 0},
	{SYS_preadv, TRANSFERS | OBEYS_FLAG, 0},
	{SYS_preadv2, WAITS | TRANSFERS | OBEYS_FLAG, 0},
	{SYS_write, WAITS | TRANSFERS | OBEYS_FLAG, 0},
	{SYS_writev, WAITS | TRANSFERS | OBEYS_FLAG, 0},
	{SYS_pwrite64, TRANSFERS | OBEYS_FLAG, 0},
	{SYS_pwritev, TRANSFERS | OBEYS_FLAG, 0},
	{SYS_pwritev2, WAITS | TRANSFERS | OBEYS_FLAG, 0},
	{SYS_recvfrom, WAITS | TRANSFERS | RESTARTS | OBEYS_FLAG, 0},
	{SYS_recvmsg, WAITS | TRANSFERS | RESTARTS | OBEYS_FLAG, 0},
	{SYS_recvmmsg, WAITS | TRANSFERS | OBEYS_FLAG, 0},
	{SYS_sendto, WAITS | TRANSFERS | OBEYS_FLAG, 0},
	{SYS_sendmsg, WAITS | TRANSFERS | OBEYS_FLAG, 0},
	{SYS_sendmmsg, WAITS | TRANSFERS | OBEYS_FLAG, 0},
	{SYS_sendfile, WAITS | TRANSFERS, 0},
	{SYS_splice, WAITS | TRANSFERS, 0},
	{SYS_tee, WAITS | TRANSFERS, 0},
	{SYS_vmsplice, WAITS | TRANSFERS, 0},
	{SYS_copy_file_range, TRANSFERS, 0},
	{SYS_getrandom, WAITS | TRANSFERS, 0},
#ifdef SYS_poll /* x86 has the old forms too */
	{SYS_poll, WAITS | RESTARTS | CONTINUED, 0},
	{SYS_select, WAITS | RESTARTS, 0},
	{SYS_pause, WAITS | RESTARTS, 0},
	{SYS_open, WAITS | RESTARTS, 0},
	{SYS_epoll_wait, WAITS | RESTARTS_NEGATIVE, 3},
#endif
};

static const struct row *row_of(int64_t nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].nr == nr)
			return &rows[i];
	}
	return NULL;
}

static bool has_trait(int64_t nr, enum trait trait)
{
	const struct row *row = row_of(nr);

	return row && row->traits & trait;
}

bool syscall_waits(int64_t nr)
{
	return has_trait(nr, WAITS);
}

/* A receive that waits for all bytes returns those that have come. */
static bool waits_for_all(int64_t nr, const uint64_t args[6])
{
	return (nr == SYS_recvfrom && args[3] & MSG_WAITALL) ||
	       (nr == SYS_recvmsg && args[2] & MSG_WAITALL);
}

/* Transfers up to this size are done at once. */
#define SHORT_BYTES 16384

/* The number of bytes to transfer; unknown for lists of buffers. */
static uint64_t bytes_of(int64_t nr, const uint64_t args[6])
{
	switch (nr) {
	case SYS_read:
	case SYS_write:
	case SYS_pread64:
	case SYS_pwrite64:
	case SYS_sendto:
	case SYS_recvfrom:
		return args[2];
	case SYS_getrandom:
		return args[1];
	case SYS_sendfile:
		return args[3];
	case SYS_splice:
	case SYS_copy_file_range:
		return args[4];
	default:
		return UINT64_MAX;
	}
}

bool syscall_transfers(int64_t nr, const uint64_t args[6])
{
	return has_trait(nr, TRANSFERS) &&
	       (bytes_of(nr, args) > SHORT_BYTES || waits_for_all(nr, args));
}

uint64_t syscall_written_bytes(int64_t nr, const uint64_t args[6])
{
	switch (nr) {
	case SYS_write:
	case SYS_sendto:
		return bytes_of(nr, args);
	default:
		return 0;
	}
}

bool syscall_goes_on(int64_t nr)
{
	return nr == SYS_connect;
}

bool syscall_is_continued(int64_t nr)
{
	return has_trait(nr, CONTINUED);
}

bool syscall_reads(int64_t nr)
{
	return has_trait(nr, TRANSFERS) && has_trait(nr, RESTARTS);
}

bool syscall_obeys_flag(int64_t nr)
{
	return has_trait(nr, OBEYS_FLAG);
}

bool syscall_restarts_unseen(int64_t nr, const uint64_t args[6])
{
	const struct row *row = row_of(nr);

	if (!row || waits_for_all(nr, args))
		return false;
	if (row->traits & RESTARTS_NULL)
		return !args[row->timeout];
	if (row->traits & RESTARTS_NEGATIVE)
		return (int)args[row->timeout] < 0;
	return row->traits & RESTARTS;
}

/* Parts of function names, for both machines; names of several kernels (5.10 to 6.18). */
static const char *const in_system_call[] = {"do_syscall_64", "do_fast_syscall_32",
					     "do_int80_syscall", "el0_svc"};

/* The call is done, its result is written. */
static const char *const leaving[] = {"exit_to_user_mode_loop", "exit_to_user_mode_prepare",
				      "do_notify_resume"};

/* connect() is no transfer, but a restarted one with a time limit ends with EALREADY. */
static const char *const transfers[] = {
	"read_zero",	   "read_iter_zero", "get_random",   "urandom_read",	 "random_read",
	"do_sendfile",	   "splice_",	     "do_splice",    "iter_file_splice", "pipe_write",
	"sock_write_iter", "__sys_sendto",   "sys_sendmsg",  "sys_sendmmsg",	 "sock_read_iter",
	"__sys_recvfrom",  "sys_recvmsg",    "sys_recvmmsg", "tty_read",	 "tty_write",
	"io_uring_enter",  "sys_connect",
};

static bool names_any(const char *text, size_t nr_bytes, const char *const *names, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (memmem(text, nr_bytes, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

bool kernel_stack_shows_transfer(const char *text, size_t nr_bytes)
{
	return names_any(text, nr_bytes, in_system_call, ARRAY_SIZE(in_system_call)) &&
	       !names_any(text, nr_bytes, leaving, ARRAY_SIZE(leaving)) &&
	       names_any(text, nr_bytes, transfers, ARRAY_SIZE(transfers));
}

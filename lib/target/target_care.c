// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "proc/read.h"
#include "target/memory.h"
#include "target/target_priv.h"
#include "target/terminal.h"

/*
 * System calls by what a stop does to them, found with a thread in each of 75 blocking
 * calls: most are restarted by the kernel unseen, some return EINTR, which the repair
 * undoes, and some return what they have done so far, which nothing can undo.
 */

/* A transfer of more than this may sleep several times, and run in between. */
#define LONG_TRANSFER_BYTES 16384
#define IOVECS_MAX	    64

/* The kernel restarts these, or the repair does, with nothing lost. */
static const long restartable[] = {
	SYS_futex,   SYS_nanosleep, SYS_clock_nanosleep, SYS_read,	    SYS_wait4,
	SYS_waitid,  SYS_ppoll,	    SYS_pselect6,	 SYS_accept,	    SYS_accept4,
	SYS_connect, SYS_recvfrom,  SYS_recvmsg,	 SYS_flock,	    SYS_fcntl,
	SYS_openat,  SYS_msgrcv,    SYS_semop,		 SYS_rt_sigsuspend, SYS_restart_syscall,
#ifdef SYS_poll /* x86 has the old forms too */
	SYS_poll,    SYS_select,    SYS_pause,		 SYS_open,
#endif
};

/* The same, but a timeout would begin anew: only those that have none. */
static bool is_restartable_without_timeout(const struct proc_syscall *syscall)
{
	switch (syscall->nr) {
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
	case SYS_epoll_pwait:
		return (int)syscall->args[3] < 0;
	case SYS_semtimedop:
		return !syscall->args[3];
	case SYS_rt_sigtimedwait:
		return !syscall->args[2];
	default:
		return false;
	}
}

static bool is_among(long nr, const long *table, size_t nr_rows)
{
	for (size_t i = 0; i < nr_rows; i++) {
		if (table[i] == nr)
			return true;
	}
	return false;
}

static const long waits[] = {
	SYS_nanosleep,	  SYS_clock_nanosleep, SYS_futex,      SYS_ppoll,
	SYS_pselect6,	  SYS_epoll_pwait,     SYS_semtimedop, SYS_rt_sigtimedwait,
	SYS_io_getevents, SYS_restart_syscall,
#ifdef SYS_poll
	SYS_poll,	  SYS_select,	       SYS_epoll_wait,
#endif
};

bool target_is_wait(int32_t syscall_nr)
{
	return is_among(syscall_nr, waits, ARRAY_SIZE(waits));
}

/* The sum of an iovec array in the target; a long transfer when it cannot be known. */
static uint64_t iovec_bytes(pid_t tid, uint64_t address, uint64_t nr)
{
	struct iovec parts[IOVECS_MAX] = {0};
	uint64_t sum = 0;

	if (nr > IOVECS_MAX ||
	    target_read_memory(tid, address, parts, sizeof(parts[0]) * nr) != sizeof(parts[0]) * nr)
		return UINT64_MAX;
	for (uint64_t i = 0; i < nr; i++)
		sum = sum + parts[i].iov_len < sum ? UINT64_MAX : sum + parts[i].iov_len;
	return sum;
}

static uint64_t message_bytes(pid_t tid, uint64_t address)
{
	struct msghdr message;

	if (target_read_memory(tid, address, &message, sizeof(message)) != sizeof(message))
		return UINT64_MAX;
	return iovec_bytes(tid, (uint64_t)(uintptr_t)message.msg_iov, message.msg_iovlen);
}

/* MSG_WAITALL, several messages: however few they are, a stop makes them fewer. */
static uint64_t whole_bytes(uint64_t bytes)
{
	return bytes > LONG_TRANSFER_BYTES ? bytes : LONG_TRANSFER_BYTES + 1;
}

/* How many bytes the call will not return without, or 0 when it may. */
static uint64_t wanted_bytes(pid_t tid, const struct proc_syscall *syscall)
{
	switch (syscall->nr) {
	case SYS_read:
		return syscall->args[2] > 1 && terminal_least_bytes(tid, (int)syscall->args[0]) > 1
			       ? whole_bytes(syscall->args[2])
			       : 0;
	case SYS_write:
	case SYS_sendto:
		return syscall->args[2];
	case SYS_writev:
	case SYS_pwritev:
	case SYS_pwritev2: /* to the present position of a pipe, too */
		return iovec_bytes(tid, syscall->args[1], syscall->args[2]);
	case SYS_sendmsg:
		return message_bytes(tid, syscall->args[1]);
	case SYS_sendfile:
		return syscall->args[3];
	case SYS_splice:
		return syscall->args[4];
	case SYS_recvfrom:
		return syscall->args[3] & MSG_WAITALL ? whole_bytes(syscall->args[2]) : 0;
	case SYS_recvmsg:
		return syscall->args[2] & MSG_WAITALL
			       ? whole_bytes(message_bytes(tid, syscall->args[1]))
			       : 0;
	case SYS_sendmmsg:
		if (syscall->args[3] & MSG_DONTWAIT)
			return 0;
		return syscall->args[2] > 1 ? whole_bytes(0) : message_bytes(tid, syscall->args[1]);
	case SYS_recvmmsg:
		return syscall->args[2] > 1 && !(syscall->args[3] & (MSG_WAITFORONE | MSG_DONTWAIT))
			       ? whole_bytes(0)
			       : 0;
	default:
		return 0;
	}
}

/* As far above the stack pointer as anybody would call it the stack. */
#define STACK_REACH_BYTES (UINT64_C(8) << 20)

/*
 * A poll whose timeout the kernel cannot write back (a constant) begins anew with the whole
 * of it, even if it was just about to return; io_getevents(2) always does.
 */
static bool restarts_its_timeout(const struct proc_syscall *syscall)
{
	uint64_t timeout;

	if (syscall->nr == SYS_io_getevents)
		return true;
	if (syscall->nr == SYS_ppoll)
		timeout = syscall->args[2];
	else if (syscall->nr == SYS_pselect6)
		timeout = syscall->args[4];
	else
		return false;
	return timeout && (timeout < syscall->sp || timeout - syscall->sp > STACK_REACH_BYTES);
}

/*
 * A thread that makes long transfers is hardly ever seen asleep in them if its peer is fast,
 * and no file tells whether a running one is in the kernel. So it is asked to stop rarely.
 */
#define TRANSFER_CPU_NS (50 * NS_PER_MS)
#define CALL_CPU_NS	NS_PER_MS

/* Transfers to and from files are not broken off by a stop. */
bool target_is_stream(pid_t tid, uint64_t fd)
{
	char name[32];
	char target[64];

	snprintf(name, sizeof(name), "fd/%d", (int)fd);
	return proc_read_process_link(tid, name, target, sizeof(target)) &&
	       (strncmp(target, "pipe:", 5) == 0 || strncmp(target, "socket:", 7) == 0 ||
		terminal_is_name(target));
}

/* Broken off after it has submitted, io_uring_enter(2) says so, though nothing has completed. */
static bool submits_and_waits(const struct proc_syscall *syscall)
{
	return syscall->nr == SYS_io_uring_enter && syscall->args[1] && syscall->args[2];
}

static uint64_t spoilt_cpu_ns(pid_t tid, const struct proc_syscall *syscall)
{
	uint64_t wanted = wanted_bytes(tid, syscall);

	if (wanted > LONG_TRANSFER_BYTES && target_is_stream(tid, syscall->args[0]))
		return TRANSFER_CPU_NS;
	/* A terminal takes no more than its reader leaves room for. */
	if (wanted > 1 && terminal_is(tid, (int)syscall->args[0]))
		return CALL_CPU_NS;
	return restarts_its_timeout(syscall) || submits_and_waits(syscall) ? CALL_CPU_NS : 0;
}

/* Moved a part only, of what is long enough to be broken off. */
static bool is_part(int64_t result, uint64_t wanted)
{
	return result > 0 && wanted > MEMORY_PAGE_BYTES && (uint64_t)result < wanted;
}

/* Where a descriptor reads and writes next, as the call has left it. */
static bool read_position(pid_t tid, uint64_t fd, uint64_t *position)
{
	char name[32];
	struct buf text = {0};
	const char *at;

	snprintf(name, sizeof(name), "fdinfo/%d", (int)fd);
	at = proc_read_process_file(tid, name, &text) ? strstr(buf_str(&text), "pos:") : NULL;
	if (at)
		*position = strtoull(at + strlen("pos:"), NULL, 10);
	buf_release(&text);
	return at;
}

/* Is there no more in the file? Asked of what is known already: nobody is to answer. */
static bool has_sent_all(pid_t tid, const struct proc_syscall *syscall)
{
	uint64_t fd = syscall->args[1], offset = syscall->args[2], position;
	struct statx file;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)tid, (int)fd);
	if (offset ? target_read_memory(tid, offset, &position, sizeof(position)) !=
			     sizeof(position)
		   : !read_position(tid, fd, &position))
		return false;
	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_SIZE, &file) == 0 &&
	       position >= file.stx_size;
}

/* One that a thread waits for: what is not blocking moves parts at any time. */
static bool is_blocking(pid_t tid, uint64_t fd)
{
	char name[32];
	struct buf text = {0};
	const char *flags;
	bool blocks;

	snprintf(name, sizeof(name), "fdinfo/%d", (int)fd);
	flags = proc_read_process_file(tid, name, &text) ? strstr(buf_str(&text), "flags:") : NULL;
	blocks = flags && !(strtoul(flags + strlen("flags:"), NULL, 8) & O_NONBLOCK);
	buf_release(&text);
	return blocks;
}

static bool is_among_devices(pid_t tid, uint64_t fd, const char *const *devices, size_t nr)
{
	char name[32];
	char target[64];

	snprintf(name, sizeof(name), "fd/%d", (int)fd);
	if (!proc_read_process_link(tid, name, target, sizeof(target)))
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (strcmp(target, devices[i]) == 0)
			return true;
	}
	return false;
}

/* They give all that is asked for. */
bool target_is_endless(pid_t tid, uint64_t fd)
{
	static const char *const devices[] = {"/dev/zero", "/dev/urandom", "/dev/random",
					      "/dev/full"};

	return is_among_devices(tid, fd, devices, ARRAY_SIZE(devices));
}

/* They take all that is given, and keep nothing. */
bool target_is_bottomless(pid_t tid, uint64_t fd)
{
	static const char *const devices[] = {"/dev/null", "/dev/zero"};

	return is_among_devices(tid, fd, devices, ARRAY_SIZE(devices));
}

/* Who asks not to wait may get a part as well. */
static bool waits_for_all(pid_t tid, const struct proc_syscall *syscall, uint64_t flags)
{
	return !(flags & MSG_DONTWAIT) && target_is_stream(tid, syscall->args[0]) &&
	       is_blocking(tid, syscall->args[0]);
}

bool target_call_was_cut(pid_t tid, const struct proc_syscall *syscall, int64_t result)
{
	const uint64_t *args = syscall->args;

	if (result <= 0)
		return false;
	switch (syscall->nr) {
	case SYS_getrandom:
		return is_part(result, args[1]);
	case SYS_read:
	case SYS_pread64:
		return is_part(result, args[2]) && target_is_endless(tid, args[0]);
	case SYS_sendfile:
		return is_part(result, args[3]) && !has_sent_all(tid, syscall);
	/* What ends with the file hardly ever ends with a page. */
	case SYS_splice:
	case SYS_copy_file_range:
		return is_part(result, args[4]) && result % MEMORY_PAGE_BYTES == 0;
	case SYS_write:
	case SYS_writev:
	case SYS_pwritev:
	case SYS_pwritev2:
		return is_part(result, wanted_bytes(tid, syscall)) &&
		       waits_for_all(tid, syscall, 0);
	case SYS_sendto:
		return is_part(result, args[2]) && waits_for_all(tid, syscall, args[3]);
	case SYS_sendmsg:
		return is_part(result, wanted_bytes(tid, syscall)) &&
		       waits_for_all(tid, syscall, args[2]);
	case SYS_recvfrom:
		return args[3] & MSG_WAITALL && is_part(result, args[2]) &&
		       waits_for_all(tid, syscall, args[3]);
	case SYS_recvmsg:
		return args[2] & MSG_WAITALL && is_part(result, message_bytes(tid, args[1])) &&
		       waits_for_all(tid, syscall, args[2]);
	default:
		return false;
	}
}

/* A socket may have a timeout (SO_RCVTIMEO), which nobody but its owner can see. */
static bool may_have_timeout(long nr)
{
	return nr == SYS_read || nr == SYS_recvfrom || nr == SYS_recvmsg || nr == SYS_accept ||
	       nr == SYS_accept4 || nr == SYS_connect;
}

/* signal(7), "Interruption of system calls". */
static const long unrestarted[] = {
	SYS_epoll_pwait,  SYS_epoll_pwait2,  SYS_semop,		  SYS_semtimedop,
	SYS_io_getevents, SYS_io_pgetevents, SYS_rt_sigtimedwait,
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
#endif
};

/* Woken for a signal, does it fail with EINTR, so that it can be repaired, not come out short? */
static bool fails_with_eintr(pid_t tid, const struct proc_syscall *syscall)
{
	switch (syscall->nr) {
	case SYS_io_uring_enter:
		return !syscall->args[1]; /* having submitted, it tells how many that were */
	case SYS_ppoll:
	case SYS_pselect6:
		return restarts_its_timeout(syscall);
	default:
		return is_among(syscall->nr, unrestarted, ARRAY_SIZE(unrestarted)) ||
		       (may_have_timeout(syscall->nr) && syscall->nr != SYS_read &&
			!wanted_bytes(tid, syscall));
	}
}

/* Calls with a mask of their own for what is blocked look for signals when they set it. */
static bool asks_for_signals(const struct proc_syscall *syscall)
{
	switch (syscall->nr) {
	case SYS_rt_sigtimedwait:
		return true;
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
		return syscall->args[4];
	default:
		return false;
	}
}

bool target_has_own_mask(const struct proc_syscall *syscall)
{
	switch (syscall->nr) {
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_io_uring_enter:
		return syscall->args[4];
	case SYS_ppoll:
		return syscall->args[3];
	case SYS_pselect6:
	case SYS_io_pgetevents:
		return syscall->args[5];
	default:
		return false;
	}
}

struct target_care target_care_of(pid_t tid, const struct proc_syscall *syscall)
{
	struct target_care care = {0};

	if (syscall->kind != PROC_SYSCALL_INSIDE)
		return care;
	care.spoilt_cpu_ns = spoilt_cpu_ns(tid, syscall);
	care.is_long_transfer = care.spoilt_cpu_ns == TRANSFER_CPU_NS;
	/* It asks for signals before it asks whether the socket's timeout is up. */
	care.late_signal = syscall->nr == SYS_accept || syscall->nr == SYS_accept4;
	care.is_unrestarted = fails_with_eintr(tid, syscall);
	care.asks_for_signals = asks_for_signals(syscall);
	care.only_at_first = may_have_timeout(syscall->nr);
	care.stoppable_asleep = !care.spoilt_cpu_ns &&
				(is_among(syscall->nr, restartable, ARRAY_SIZE(restartable)) ||
				 is_restartable_without_timeout(syscall));
	return care;
}

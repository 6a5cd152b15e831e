// SPDX-License-Identifier: GPL-2.0-or-later
#include "holding/awaited.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "proc/task.h"
#include "proc/unix_peer.h"

#define AGAIN_NS NS_PER_SEC

void awaited_release(struct awaited *awaited)
{
	proc_ends_release(&awaited->ends);
}

static bool is_one_of(int64_t nr, const short *calls, size_t nr_calls)
{
	for (size_t i = 0; i < nr_calls; i++)
		if (nr == calls[i])
			return true;
	return false;
}

/* Has this process alone that end? */
static enum awaited_from owners_of(const struct awaited *awaited, uint64_t inode,
				   enum proc_end_kind kind)
{
	const struct proc_end *end = inode ? proc_ends_find(&awaited->ends, inode, kind) : NULL;

	if (!end)
		return AWAITED_UNKNOWN;
	return end->owners[0] == awaited->pid && !end->owners[1] ? AWAITED_INSIDE : AWAITED_UNKNOWN;
}

/* `kind`: of the other end. */
static enum awaited_from end_from(struct awaited *awaited, uint64_t inode, enum proc_end_kind kind)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct awaited_end *row;

	if (!awaited->read_ns || now_ns - awaited->read_ns > AGAIN_NS) {
		proc_ends_read(&awaited->ends);
		awaited->read_ns = now_ns;
		awaited->nr_known = 0;
	}
	for (size_t i = 0; i < awaited->nr_known && i < AWAITED_ENDS; i++)
		if (awaited->known[i].inode == inode && awaited->known[i].kind == kind)
			return awaited->known[i].from;
	row = &awaited->known[awaited->nr_known++ % AWAITED_ENDS];
	*row = (struct awaited_end){.inode = inode, .kind = kind};
	row->from =
		owners_of(awaited, kind == PROC_END_SOCKET ? proc_unix_peer(inode) : inode, kind);
	return row->from;
}

static enum awaited_from file_from(struct awaited *awaited, uint64_t fd, bool writes)
{
	char path[64], target[64];
	uint64_t inode;
	ssize_t got;

	if (fd > INT_MAX)
		return AWAITED_UNKNOWN;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)awaited->pid, (int)fd);
	got = readlink(path, target, sizeof(target) - 1);
	target[got > 0 ? got : 0] = '\0';
	if (!strcmp(target, "anon_inode:[eventfd]"))
		return AWAITED_INSIDE;
	if (proc_end_inode(target, "pipe:[", &inode))
		return end_from(awaited, inode, writes ? PROC_END_READS : PROC_END_WRITES);
	if (proc_end_inode(target, "socket:[", &inode))
		return end_from(awaited, inode, PROC_END_SOCKET);
	return AWAITED_UNKNOWN;
}

enum awaited_from awaited_from(struct awaited *awaited, const struct proc_syscall *call)
{
	static const short inside[] = {SYS_futex, SYS_wait4, SYS_waitid};
	static const short timers[] = {SYS_nanosleep, SYS_clock_nanosleep};
	static const short reads[] = {SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg};
	static const short writes[] = {SYS_write, SYS_writev, SYS_sendto, SYS_sendmsg};

	if (is_one_of(call->nr, inside, ARRAY_SIZE(inside)))
		return AWAITED_INSIDE;
	if (is_one_of(call->nr, timers, ARRAY_SIZE(timers)))
		return AWAITED_OUTSIDE;
	if (is_one_of(call->nr, reads, ARRAY_SIZE(reads)))
		return file_from(awaited, call->args[0], false);
	if (is_one_of(call->nr, writes, ARRAY_SIZE(writes)))
		return file_from(awaited, call->args[0], true);
	return AWAITED_UNKNOWN;
}

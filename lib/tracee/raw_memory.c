// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the memory of a thread, and asks what is mapped there. */
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "proc/range.h"
#include "proc/read.h"
#include "tracee/tracee_priv.h"

/* Slower, and allowed under the same condition, but seccomp filters of containers let it pass. */
static size_t read_file(pid_t tid, uint64_t start, void *room, size_t nr_bytes)
{
	cleanup_close int fd = proc_open_task_file(tid, tid, "mem");
	ssize_t got = fd < 0 ? -1 : pread(fd, room, nr_bytes, (off_t)start);
	return got > 0 ? (size_t)got : 0;
}

size_t tracee_read_any(pid_t tid, uint64_t start, void *room, size_t nr_bytes)
{
	struct iovec local = {.iov_base = room, .iov_len = nr_bytes};
	/* An address of the target, which is no pointer of ours. */
	struct iovec remote = {.iov_base = (void *)(uintptr_t)start, .iov_len = nr_bytes};
	ssize_t got = process_vm_readv(tid, &local, 1, &remote, 1, 0);

	if (got >= 0)
		return (size_t)got;
	return errno == EPERM || errno == ENOSYS ? read_file(tid, start, room, nr_bytes) : 0;
}

bool tracee_ask_for_mapping(struct tracee *tracee, uint64_t address, struct proc_range *range)
{
	cleanup_close int fd = -1;

	if (tracee_range_at(tracee, address, range))
		return true;
	if (errno != ENOTTY)
		return false;
	tracee->maps_are_slow = true;
	fd = proc_open_task_file(tracee->tgid, tracee->tid, "maps");
	return fd >= 0 && proc_range_in_text(fd, address, range);
}

bool tracee_is_served(struct tracee *tracee, const struct proc_range *range)
{
	struct tracee_host *host = tracee->host;

	return backings_are_served(&host->backings, tracee->tid, range);
}

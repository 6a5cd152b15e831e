// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracee/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"

/* Slower, and read at the same condition; but seccomp filters of containers let it pass. */
static size_t read_file(pid_t tid, uint64_t start, void *room, size_t nr_bytes)
{
	char path[32];
	cleanup_close int fd = -1;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : pread(fd, room, nr_bytes, (off_t)start);
	return got > 0 ? (size_t)got : 0;
}

size_t memory_read(pid_t tid, uint64_t start, void *room, size_t nr_bytes)
{
	struct iovec local = {.iov_base = room, .iov_len = nr_bytes};
	/* An address of the target, which is no pointer of ours. */
	struct iovec remote = {.iov_base = (void *)(uintptr_t)start, .iov_len = nr_bytes};
	ssize_t got = process_vm_readv(tid, &local, 1, &remote, 1, 0);

	if (got >= 0)
		return (size_t)got;
	return errno == EPERM || errno == ENOSYS ? read_file(tid, start, room, nr_bytes) : 0;
}

#define PAGES_AT_ONCE	  512
#define PAGE_IS_SOMEWHERE (UINT64_C(3) << 62) /* in memory, or swapped out */

size_t memory_present_bytes(pid_t tid, uint64_t start, size_t nr_bytes)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t first = start / page;
	uint64_t entries[PAGES_AT_ONCE];
	cleanup_close int fd = -1;
	size_t nr, present = 0;
	char path[32];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : pread(fd, entries, sizeof(entries), (off_t)(first * sizeof(*entries)));
	nr = got > 0 ? (size_t)got / sizeof(*entries) : 0;
	while (present < nr && entries[present] & PAGE_IS_SOMEWHERE)
		present++;
	if (!present || start + nr_bytes <= (first + present) * page)
		return present ? nr_bytes : 0;
	return (size_t)((first + present) * page - start);
}

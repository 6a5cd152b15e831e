// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory of another process: its copy, and whom that may wait for. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mman.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "proc/mounts.h"
#include "proc/read.h"
#include "tracee/tracee_priv.h"

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

size_t tracee_read_memory(pid_t tid, uint64_t start, void *room, size_t nr_bytes)
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

size_t tracee_present_bytes(pid_t tid, uint64_t start, size_t nr_bytes)
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

/* Memory, disks, and what layers them. Of others it is not known whom they wait for. */
static const char *const own_types[] = {
	"tmpfs", "ramfs",    "hugetlbfs", "devtmpfs", "overlay", "ext2",  "ext3",
	"ext4",	 "xfs",	     "btrfs",	  "bcachefs", "f2fs",	 "zfs",	  "erofs",
	"jfs",	 "squashfs", "iso9660",	  "udf",      "vfat",	 "exfat", "ntfs3",
};

static bool is_own_type(const struct proc_mount *mount)
{
	for (size_t i = 0; i < ARRAY_SIZE(own_types); i++) {
		if (proc_mount_is_type(mount, own_types[i]))
			return true;
	}
	return false;
}

static bool is_mapped_like(const struct proc_range *range, int maps, size_t nr_bytes,
			   unsigned flags)
{
	struct proc_range own = {0};
	void *at = mmap(NULL, nr_bytes, PROT_NONE,
			(int)(MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | flags), -1, 0);
	bool is_known;

	if (at == MAP_FAILED)
		return false;
	is_known = proc_range_at(maps, (uintptr_t)at, &own) ||
		   proc_range_in_text(maps, (uintptr_t)at, &own);
	munmap(at, nr_bytes);
	return is_known && own.inode && own.dev_major == range->dev_major &&
	       own.dev_minor == range->dev_minor;
}

/* Of all that x86-64 and AArch64 have, as powers of 2: each has a file system of its own. */
static const unsigned huge_page_sizes[] = {16, 21, 25, 29, 30, 34};

/* What is shared, or has huge pages, shows a file of the kernel's that is mounted nowhere. */
static bool is_nameless_memory(const struct proc_range *range)
{
	cleanup_close int maps = proc_open_task_file(getpid(), gettid(), "maps");

	if (maps < 0)
		return false;
	if (is_mapped_like(range, maps, (size_t)sysconf(_SC_PAGESIZE), 0))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(huge_page_sizes); i++) {
		if (is_mapped_like(range, maps, (size_t)1 << huge_page_sizes[i],
				   MAP_HUGETLB | huge_page_sizes[i] << MAP_HUGE_SHIFT))
			return true;
	}
	return false;
}

/* Is it mounted there? Then also: is it the file system of anybody but the kernel and its disks? */
static bool is_mounted(pid_t tid, const struct proc_range *range, bool *is_served)
{
	bool is_found = false;
	struct buf text = {0};
	struct proc_mounts_iter mounts;
	struct proc_mount mount;

	proc_read_process_file(tid, "mountinfo", &text);
	mounts = proc_mounts_over(buf_str(&text), text.nr_bytes);
	while (!is_found && proc_mounts_next(&mounts, &mount)) {
		is_found =
			mount.dev_major == range->dev_major && mount.dev_minor == range->dev_minor;
		if (is_found)
			*is_served = !is_own_type(&mount);
	}
	buf_release(&text);
	return is_found;
}

bool tracee_is_served(struct backings *backings, pid_t tid, const struct proc_range *range)
{
	struct backing found = {
		.dev_major = range->dev_major, .dev_minor = range->dev_minor, .is_used = true};

	for (size_t i = 0; i < BACKINGS_KNOWN; i++) {
		const struct backing *known = &backings->known[i];

		if (known->is_used && known->dev_major == range->dev_major &&
		    known->dev_minor == range->dev_minor)
			return known->is_served;
	}
	/* What lies below a container's files is to be seen from outside, if anywhere. */
	if (!is_mounted(tid, range, &found.is_served) &&
	    !is_mounted(getpid(), range, &found.is_served) && !is_nameless_memory(range))
		return true; /* as far as is known now: a thread that has died tells of no mounts */
	backings->known[backings->next++ % BACKINGS_KNOWN] = found;
	return found.is_served;
}

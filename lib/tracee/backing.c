// SPDX-License-Identifier: GPL-2.0-or-later
/* Which process, if any, a read of memory that shows a file may wait for. */
#include <linux/mman.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/minmax.h"
#include "proc/mounts.h"
#include "proc/read.h"
#include "tracee/tracee_priv.h"

/* Memory, disks, and what layers them. Of others it is not known. */
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
#define SMALLEST_HUGE_PAGE 16
#define LARGEST_HUGE_PAGE  34

/* What is shared, or has huge pages, shows a file of the kernel's that is mounted nowhere. */
static bool is_nameless_memory(const struct proc_range *range)
{
	cleanup_close int maps = proc_open_task_file(getpid(), gettid(), "maps");

	if (maps < 0)
		return false;
	if (is_mapped_like(range, maps, (size_t)sysconf(_SC_PAGESIZE), 0))
		return true;
	for (unsigned int size = SMALLEST_HUGE_PAGE; size <= LARGEST_HUGE_PAGE; size++) {
		if (is_mapped_like(range, maps, (size_t)1 << size,
				   MAP_HUGETLB | size << MAP_HUGE_SHIFT))
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
	struct backing found = {.dev_major = range->dev_major, .dev_minor = range->dev_minor};

	for (size_t i = 0; i < min_u64(backings->nr_found, BACKINGS_KNOWN); i++) {
		const struct backing *known = &backings->known[i];

		if (known->dev_major == range->dev_major && known->dev_minor == range->dev_minor)
			return known->is_served;
	}
	/* What lies below a container's files is to be seen from outside, if anywhere. */
	if (!is_mounted(tid, range, &found.is_served) &&
	    !is_mounted(getpid(), range, &found.is_served) && !is_nameless_memory(range))
		return true; /* as far as is known now: a thread that has died tells of no mounts */
	backings->known[backings->nr_found++ % BACKINGS_KNOWN] = found;
	return found.is_served;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracee/backing.h"

#include <linux/mman.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "proc/mounts.h"
#include "proc/read.h"

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

static bool is_same_device(const struct proc_range *a, const struct proc_range *b)
{
	return a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
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
	return is_known && own.inode && is_same_device(&own, range);
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

enum mounting {
	MOUNTED_NOWHERE, /* as far as it can be seen there */
	MOUNTED_OWN,
	MOUNTED_OTHER,
	MOUNTS_UNREADABLE,
};

/* Is it mounted there, and how? */
static enum mounting mounting_of(pid_t tid, const struct proc_range *range)
{
	enum mounting mounting = MOUNTED_NOWHERE;
	struct buf text = {0};
	struct proc_mounts_iter mounts;
	struct proc_mount mount;

	if (!proc_read_process_file(tid, "mountinfo", &text)) {
		buf_release(&text);
		return MOUNTS_UNREADABLE;
	}
	mounts = proc_mounts_over(buf_str(&text), text.nr_bytes);
	while (mounting == MOUNTED_NOWHERE && proc_mounts_next(&mounts, &mount)) {
		if (mount.dev_major == range->dev_major && mount.dev_minor == range->dev_minor)
			mounting = is_own_type(&mount) ? MOUNTED_OWN : MOUNTED_OTHER;
	}
	buf_release(&text);
	return mounting;
}

static bool is_mounted(enum mounting mounting)
{
	return mounting == MOUNTED_OWN || mounting == MOUNTED_OTHER;
}

/* Says whether that is certain, and not just the best that is known. */
static bool judge(pid_t tid, const struct proc_range *range, bool *is_served)
{
	enum mounting its = mounting_of(tid, range);
	/* What lies below a container's files is to be seen from outside, if anywhere. */
	enum mounting mounting = is_mounted(its) ? its : mounting_of(getpid(), range);

	*is_served = is_mounted(mounting) ? mounting == MOUNTED_OTHER : !is_nameless_memory(range);
	return !*is_served || is_mounted(mounting) || its != MOUNTS_UNREADABLE;
}

bool backing_is_served(struct backings *backings, pid_t tid, const struct proc_range *range)
{
	bool is_served;

	for (size_t i = 0; i < BACKINGS_KNOWN; i++) {
		if (backings->known[i].is_used &&
		    backings->known[i].dev_major == range->dev_major &&
		    backings->known[i].dev_minor == range->dev_minor)
			return backings->known[i].is_served;
	}
	if (judge(tid, range, &is_served)) {
		size_t row = backings->next++ % BACKINGS_KNOWN;

		backings->known[row].dev_major = range->dev_major;
		backings->known[row].dev_minor = range->dev_minor;
		backings->known[row].is_used = true;
		backings->known[row].is_served = is_served;
	}
	return is_served;
}

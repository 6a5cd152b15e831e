// SPDX-License-Identifier: GPL-2.0-or-later
/* For which program, if any, a read of memory that shows a file may wait. */
#include "proc/backing.h"

#include <linux/mman.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/minmax.h"
#include "base/mounts.h"
#include "proc/range.h"
#include "proc/read.h"

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

/* Sizes of huge pages on x86-64 and AArch64, as powers of 2: each has its own file system. */
#define SMALLEST_HUGE_PAGE 16
#define LARGEST_HUGE_PAGE  34

/* Shared memory and huge pages show a file of a kernel file system that is mounted nowhere. */
static bool is_shared_memory(const struct proc_range *range)
{
	cleanup_close int maps = proc_open_task_file(getpid(), gettid(), "maps");

	return maps >= 0 && is_mapped_like(range, maps, (size_t)sysconf(_SC_PAGESIZE), 0);
}

static bool is_huge_memory(const struct proc_range *range)
{
	cleanup_close int maps = proc_open_task_file(getpid(), gettid(), "maps");

	if (maps < 0)
		return false;
	for (unsigned int size = SMALLEST_HUGE_PAGE; size <= LARGEST_HUGE_PAGE; size++) {
		if (is_mapped_like(range, maps, (size_t)1 << size,
				   MAP_HUGETLB | size << MAP_HUGE_SHIFT))
			return true;
	}
	return false;
}

enum mounted { NOT_MOUNTED, IS_OWN, IS_SERVED, IS_OVERLAY_OF_OWN };

/* As a process sees it. */
static enum mounted look_in(pid_t tid, const struct proc_range *range)
{
	enum mounted found = NOT_MOUNTED;
	struct buf text = {0};
	struct mounts_iter mounts;
	struct mount_line mount;

	proc_read_process_file(tid, "mountinfo", &text);
	mounts = mounts_over(buf_str(&text), text.nr_bytes);
	while (found == NOT_MOUNTED && mounts_next(&mounts, &mount)) {
		if (mount.dev_major != range->dev_major || mount.dev_minor != range->dev_minor)
			continue;
		if (mount_line_is_served(&mount, buf_str(&text), text.nr_bytes))
			found = IS_SERVED;
		else
			found = mount_line_is_type(&mount, "overlay") ? IS_OVERLAY_OF_OWN : IS_OWN;
	}
	buf_release(&text);
	return found;
}

/* The layers of a container's files can be seen from outside only. */
static bool find(pid_t tid, const struct proc_range *range, bool *is_served)
{
	/* The memory of our own probes is shared: the cheapest question comes first. */
	enum mounted found = is_shared_memory(range) ? IS_OWN : look_in(getpid(), range);

	if (found == NOT_MOUNTED) {
		found = look_in(tid, range);
		/* Its layers are only those that the user who mounted it names. */
		if (found == IS_OVERLAY_OF_OWN && geteuid() == 0)
			found = IS_SERVED;
	}
	if (found == NOT_MOUNTED && is_huge_memory(range))
		found = IS_OWN;
	*is_served = found == NOT_MOUNTED || found == IS_SERVED;
	return found != NOT_MOUNTED;
}

void backings_init(struct backings *backings)
{
	*backings = (struct backings){.nr_found = 0};
	pthread_mutex_init(&backings->lock, NULL);
}

void backings_release(struct backings *backings)
{
	pthread_mutex_destroy(&backings->lock);
}

static struct backing *known_backing(struct backings *backings, const struct proc_range *range)
{
	for (size_t i = 0; i < min_u64(backings->nr_found, BACKINGS_KNOWN); i++) {
		struct backing *known = &backings->known[i];

		if (known->dev_major == range->dev_major && known->dev_minor == range->dev_minor)
			return known;
	}
	return NULL;
}

static struct backing *add_backing(struct backings *backings, const struct proc_range *range)
{
	struct backing *added = &backings->known[backings->nr_found++ % BACKINGS_KNOWN];

	*added = (struct backing){.dev_major = range->dev_major, .dev_minor = range->dev_minor};
	return added;
}

bool backings_are_served(struct backings *backings, pid_t tid, const struct proc_range *range)
{
	const struct backing *known;
	bool is_served;

	if (!range->inode)
		return false;
	pthread_mutex_lock(&backings->lock);
	known = known_backing(backings, range);
	if (known)
		is_served = known->is_served;
	else if (find(tid, range, &is_served)) /* else a thread that has died tells of no mounts */
		add_backing(backings, range)->is_served = is_served;
	pthread_mutex_unlock(&backings->lock);
	return is_served;
}

void backings_note_silent(struct backings *backings, const struct proc_range *range)
{
	struct backing *backing;

	pthread_mutex_lock(&backings->lock);
	backing = known_backing(backings, range);
	if (!backing)
		backing = add_backing(backings, range);
	backing->is_served = backing->is_silent = true;
	pthread_mutex_unlock(&backings->lock);
}

bool backings_are_silent(struct backings *backings, const struct proc_range *range)
{
	const struct backing *known;
	bool is_silent;

	pthread_mutex_lock(&backings->lock);
	known = known_backing(backings, range);
	is_silent = known && known->is_silent;
	pthread_mutex_unlock(&backings->lock);
	return is_silent;
}

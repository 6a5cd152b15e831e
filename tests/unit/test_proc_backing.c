// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/mman.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/backing.h"
#include "proc/range.h"
#include "proc/read.h"
#include "tests/unit/unit.h"

#define PAGE	  4096u
#define HUGE_PAGE (2u << 20)

/* Of a mapping of our own, which goes again. */
static struct proc_range range_of(int fd, int flags)
{
	size_t nr_bytes = flags & MAP_HUGETLB ? HUGE_PAGE : PAGE;
	void *at = mmap(NULL, nr_bytes, PROT_NONE, flags | MAP_NORESERVE, fd, 0);
	int maps = proc_open_task_file(getpid(), gettid(), "maps");
	struct proc_range range = {0};

	assert_true(at != MAP_FAILED && maps >= 0);
	assert_true(proc_range_at(maps, (uintptr_t)at, &range) ||
		    proc_range_in_text(maps, (uintptr_t)at, &range));
	assert_true(range.inode);
	close(maps);
	munmap(at, nr_bytes);
	return range;
}

TEST(backing, many_files_of_one_file_system_are_asked_for_once)
{
	struct backings backings;
	struct proc_range anonymous = range_of(-1, MAP_SHARED | MAP_ANONYMOUS);
	size_t nr_after_first;

	backings_init(&backings);
	assert_false(backings_are_served(&backings, getpid(), &anonymous));
	nr_after_first = backings.nr_found;
	for (size_t i = 0; i < 3 * BACKINGS_KNOWN; i++) {
		int fd = memfd_create("stack", MFD_CLOEXEC);
		struct proc_range range;

		assert_true(fd >= 0);
		assert_int_equal(ftruncate(fd, PAGE), 0);
		range = range_of(fd, MAP_SHARED);
		assert_false(backings_are_served(&backings, getpid(), &range));
		close(fd);
	}
	assert_int_equal(nr_after_first, 1);
	assert_int_equal(backings.nr_found, 1);
}

TEST(backing, huge_pages_are_the_kernel_s_own)
{
	struct backings backings;
	int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_HUGETLB | MAP_HUGE_2MB;
	void *at = mmap(NULL, HUGE_PAGE, PROT_NONE, flags, -1, 0);
	struct proc_range range;

	backings_init(&backings);
	if (at == MAP_FAILED)
		skip(); /* this kernel has none of that size */
	munmap(at, HUGE_PAGE);
	range = range_of(-1, flags);
	assert_false(backings_are_served(&backings, getpid(), &range));
}

/* What the thread that died could not tell, the next one may. */
TEST(backing, a_thread_that_died_says_nothing_of_the_others)
{
	struct backings backings;
	struct proc_range unknown = {.inode = 1, .dev_major = 0xfff, .dev_minor = 0xfffff};
	struct proc_range anonymous = range_of(-1, MAP_SHARED | MAP_ANONYMOUS);
	pid_t dead = fork();

	backings_init(&backings);
	if (dead == 0)
		_exit(0);
	assert_int_equal(waitpid(dead, NULL, 0), dead);
	assert_true(backings_are_served(&backings, dead, &unknown));
	assert_int_equal(backings.nr_found, 0);
	/* Of what is known without it, it does not matter. */
	assert_false(backings_are_served(&backings, dead, &anonymous));
	assert_int_equal(backings.nr_found, 1);
}

/* Device 0:0 is no row that is not used. */
TEST(backing, nothing_is_known_to_begin_with)
{
	struct backings backings;
	struct proc_range unknown = {.inode = 1};

	backings_init(&backings);
	assert_true(backings_are_served(&backings, getpid(), &unknown));
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/address.h"
#include "proc/range.h"
#include "tests/unit/unit.h"

#define PAGE page_bytes()

/* Three pages, of which the middle one is a mapping of its own. */
static uint8_t *map_three(void)
{
	uint8_t *pages = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	return pages;
}

static void check(bool (*find)(int, uint64_t, struct proc_range *), int maps)
{
	uint64_t pages = (uintptr_t)map_three();
	struct proc_range range = {0};

	for (uint64_t at = pages + PAGE; at < pages + 2 * PAGE; at += PAGE - 1) {
		assert_true(find(maps, at, &range));
		assert_true(range.start == pages + PAGE && range.end == pages + 2 * PAGE);
	}
	assert_true(find(maps, pages, &range));
	assert_true(range.end == pages + PAGE);
	range = (struct proc_range){.start = 1};
	assert_false(find(maps, 0, &range));
	assert_int_equal(errno, ENOENT);
	assert_true(range.start == 1);
}

TEST(proc_range, is_that_of_the_mapping)
{
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct proc_range range;

	assert_true(maps >= 0);
	check(proc_range_in_text, maps);
	if (proc_range_at(maps, (uintptr_t)&range, &range))
		check(proc_range_at, maps);
	else
		assert_int_equal(errno, ENOTTY);
	close(maps);
}

TEST(proc_range, has_the_name_of_the_text)
{
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	uint64_t pages = (uintptr_t)map_three();
	struct proc_range range;
	char name[16];

	if (proc_range_at(maps, (uintptr_t)&range, &range)) {
		assert_true(proc_range_name(maps, range.start, name, sizeof(name)));
		assert_string_equal(name, "[stack]");
		assert_false(proc_range_name(maps, range.start, name, strlen("[stack]")));
		assert_true(proc_range_name(maps, pages, name, sizeof(name)));
		assert_string_equal(name, "");
		assert_false(proc_range_name(maps, 0, name, sizeof(name)));
	}
	close(maps);
}

/* Three mappings, of which the middle one alone may be written to. */
static void check_walk(int maps, bool is_of_text)
{
	uint64_t pages = (uintptr_t)map_three();
	struct proc_range_walk walk;
	struct proc_range range;
	unsigned int nr = 0;

	proc_range_walk_begin(&walk, maps, PROC_RANGE_READ | PROC_RANGE_WRITE);
	walk.is_of_text = is_of_text;
	while (proc_range_walk_next(&walk, &range)) {
		assert_true(range.readable && range.writable);
		nr += range.start >= pages && range.end <= pages + 3 * PAGE;
	}
	assert_false(walk.has_failed);
	proc_range_walk_end(&walk);
	assert_int_equal(nr, 1);
}

TEST(proc_range, all_with_some_rights_come_in_order)
{
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct proc_range_walk walk;
	struct proc_range range;

	assert_true(maps >= 0);
	check_walk(maps, false);
	check_walk(maps, true);
	close(maps);
	proc_range_walk_begin(&walk, -1, PROC_RANGE_ANY);
	assert_false(proc_range_walk_next(&walk, &range));
	assert_true(walk.has_failed);
	proc_range_walk_end(&walk);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks of stacks that were seen before allocate nothing. */
#include <unistd.h>

#include "base/alloc.h"
#include "mapping/space.h"
#include "tests/lib/count_allocations.h"
#include "tests/unit/self_snapshot.h"
#include "tests/unit/unit.h"
#include "unwind/unwind.h"

#define DEPTH 200

struct fixture {
	struct module_table *modules;
	struct space *space;
	struct snapshot snapshot;
	struct unwind_walk walk;
};

static struct fixture fixture;

/* Through frames of another module, too. */
__attribute__((noinline)) static int look(const void *a, const void *b)
{
	(void)a;
	(void)b;
	self_snapshot(&fixture.snapshot);
	return 0;
}

__attribute__((noinline)) static int recurse(int depth)
{
	int numbers[2] = {depth, 0};
	int result;

	if (depth) {
		result = recurse(depth - 1) + numbers[0];
	} else {
		qsort(numbers, 2, sizeof(numbers[0]), look);
		result = numbers[1];
	}
	return result;
}

static void set_up(void)
{
	fixture.modules = module_table_new();
	fixture.space = space_new(fixture.modules, getpid());
	assert_int_equal(space_refresh(fixture.space, NULL), 0);
	recurse(DEPTH);
}

static void tear_down(void)
{
	unwind_walk_release(&fixture.walk);
	snapshot_release(&fixture.snapshot);
	space_free(fixture.space);
	module_table_free(fixture.modules);
	fixture = (struct fixture){0};
}

/* How many allocations the third walk makes. */
static uint64_t nr_when_warm(size_t max_depth)
{
	struct unwinder *unwinder = unwinder_new(UNWINDER_AUTO, max_depth);
	uint64_t nr_before = 0;
	uint64_t nr;

	for (int i = 0; i < 3; i++) {
		nr_before = count_allocations();
		unwinder_walk(unwinder, fixture.space, &fixture.snapshot, NULL, &fixture.walk);
	}
	nr = count_allocations() - nr_before;
	unwinder_free(unwinder);
	return nr;
}

TEST(allocations, are_counted)
{
	if (!COUNTS_ALLOCATIONS)
		skip();
	set_up();
	uint64_t nr_before = count_allocations();

	nr_when_warm(0); /* the cold walk must allocate */
	assert_true(count_allocations() > nr_before);
	tear_down();
}

TEST(allocations, none_in_a_whole_stack)
{
	set_up();
	assert_int_equal(nr_when_warm(0), 0);
	assert_true(fixture.walk.nr_frames > DEPTH);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	tear_down();
}

TEST(allocations, none_at_a_limit)
{
	set_up();
	assert_int_equal(nr_when_warm(20), 0);
	assert_int_equal(fixture.walk.nr_frames, 20);
	assert_int_equal(fixture.walk.end, STACK_END_DEPTH_LIMIT);
	tear_down();
}

TEST(allocations, none_where_memory_ends)
{
	set_up();
	snapshot_trim_region(&fixture.snapshot, fixture.snapshot.nr_bytes / 2);
	assert_int_equal(nr_when_warm(0), 0);
	assert_int_equal(fixture.walk.end, STACK_END_BAD_MEMORY);
	tear_down();
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "snapshot/snapshot.h"
#include "target/target_priv.h"

#define PAGE  4096u
#define PAGES 8u

/* A stack, in memory of our own: that of another process is read in the same way. */
struct fixture {
	struct target *target;
	struct tracee *tracee;
	struct snapshot snapshot;
	uint64_t stack;
};

static int set_up(void **state)
{
	static struct fixture fixture;
	const struct target_options options = {0};
	void *stack = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	assert_true(stack != MAP_FAILED);
	/* Neighbours with the same rights would be one mapping with it. */
	assert_int_equal(madvise(stack, PAGES * PAGE, MADV_DONTFORK), 0);
	memset(stack, 1, PAGES * PAGE);
	fixture = (struct fixture){.target = target_new(&options), .stack = (uintptr_t)stack};
	fixture.tracee = target_add(fixture.target, getpid(), gettid());
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	snapshot_release(&fixture->snapshot);
	target_free(fixture->target);
	munmap((void *)(uintptr_t)fixture->stack, PAGES * PAGE);
	return 0;
}

/* Where the copy of the stack ends, as an offset in it. */
static uint64_t copied_up_to(struct fixture *fixture, uint64_t sp)
{
	const struct stack_region *region = &fixture->snapshot.regions[0];
	struct proc_range range;

	snapshot_clear(&fixture->snapshot);
	target_copy_stack(fixture->tracee, fixture->stack + sp, PAGES * PAGE, &fixture->snapshot,
			  &range);
	assert_int_equal(fixture->snapshot.nr_regions, 1);
	assert_true(region->start <= fixture->stack + sp);
	return region->start + region->nr_bytes - fixture->stack;
}

static void test_target_stack__is_copied_to_the_end_of_its_mapping(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(copied_up_to(fixture, PAGE), PAGES * PAGE);
}

/* Arguments and environment of a program, above where it began, may be megabytes. */
static void test_target_stack__texts_above_the_first_frame_are_left_out(void **state)
{
	struct fixture *fixture = *state;
	uint64_t first = 2u * PAGE;

	target_know_first_stack(fixture->tracee, fixture->stack + first);
	assert_in_range(copied_up_to(fixture, PAGE), first + 8, first + PAGE);
}

static void test_target_stack__other_stacks_of_the_first_thread_are_whole(void **state)
{
	struct fixture *fixture = *state;

	target_know_first_stack(fixture->tracee, fixture->stack + 2u * PAGE);
	assert_int_equal(copied_up_to(fixture, 3u * PAGE), PAGES * PAGE);
	target_know_first_stack(fixture->tracee, fixture->stack + 100u * PAGE);
	assert_int_equal(copied_up_to(fixture, PAGE), PAGES * PAGE);
}

/* A thread's own data, above its outermost frame, may be hundreds of kilobytes. */
static void test_target_stack__what_is_above_the_outermost_frame_is_left_out(void **state)
{
	struct fixture *fixture = *state;
	uint64_t root = 2u * PAGE;

	target_know_root(fixture->tracee, fixture->stack + root);
	assert_in_range(copied_up_to(fixture, PAGE), root + 8, root + PAGE);
	target_know_root(fixture->tracee, 0);
	assert_int_equal(copied_up_to(fixture, PAGE), PAGES * PAGE);
}

static void test_target_stack__root_of_another_stack_bounds_none(void **state)
{
	struct fixture *fixture = *state;

	target_know_root(fixture->tracee, fixture->stack + 2u * PAGE);
	assert_int_equal(copied_up_to(fixture, 3u * PAGE), PAGES * PAGE);
	target_know_root(fixture->tracee, fixture->stack + 100u * PAGE);
	assert_int_equal(copied_up_to(fixture, PAGE), PAGES * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_target_stack__is_copied_to_the_end_of_its_mapping, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_target_stack__texts_above_the_first_frame_are_left_out, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			test_target_stack__other_stacks_of_the_first_thread_are_whole, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			test_target_stack__what_is_above_the_outermost_frame_is_left_out, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			test_target_stack__root_of_another_stack_bounds_none, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("target/stack", tests, NULL, NULL);
}

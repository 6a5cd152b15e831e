// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "target/target_priv.h"

/* Ids that no process has: larger than the kernel gives away. */
#define NOBODY ((pid_t)1 << 30)

static struct tracee *pending_exec(struct target *target, pid_t pid)
{
	struct target_event event = {.kind = TARGET_EVENT_EXEC};

	event.tracee = target_add(target, pid, pid);
	target_add_pending(target, &event);
	return event.tracee;
}

static struct target *made_target(void)
{
	const struct target_options options = {.follow_children = false};

	return target_new(&options);
}

static void test_target_pending__drops_what_is_left_of_a_forgotten_thread(void **state)
{
	struct target *target = made_target();
	struct tracee *first = pending_exec(target, NOBODY);
	struct tracee *second = pending_exec(target, NOBODY + 1);
	struct tracee *third = pending_exec(target, NOBODY + 2);
	struct target_event event;

	(void)state;
	target_forget(target, second);
	assert_true(target_take_pending(target, &event));
	assert_ptr_equal(event.tracee, first);
	assert_true(target_take_pending_of(target, NOBODY + 2, &event));
	assert_ptr_equal(event.tracee, third);
	assert_false(target_take_pending(target, &event));
	target_free(target);
}

static void test_target_pending__takes_more_after_the_last_was_dropped(void **state)
{
	struct target *target = made_target();
	struct tracee *first = pending_exec(target, NOBODY);
	struct tracee *second = pending_exec(target, NOBODY + 1);
	struct tracee *third;
	struct target_event event;

	(void)state;
	assert_true(target_take_pending(target, &event));
	assert_ptr_equal(event.tracee, first);
	target_forget(target, second);
	assert_false(target_take_pending(target, &event));
	third = pending_exec(target, NOBODY + 2);
	assert_true(target_take_pending(target, &event));
	assert_ptr_equal(event.tracee, third);
	target_free(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_target_pending__drops_what_is_left_of_a_forgotten_thread),
		cmocka_unit_test(test_target_pending__takes_more_after_the_last_was_dropped),
	};

	return cmocka_run_group_tests_name("target/pending", tests, NULL, NULL);
}

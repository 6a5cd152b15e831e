// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proc/timers.h"

static const char text[] = "ID: 12\n"
			   "signal: 28/0000000000000000\n"
			   "notify: signal/tid.4711\n"
			   "ClockID: 1\n"
			   "ID: 2\n"
			   "signal: 14/00007ffd5b1c0f2c\n"
			   "notify: signal/pid.4710\n"
			   "ClockID: 0\n"
			   "ID: 1\n"
			   "signal: 32/00005575d8a5a2c0\n"
			   "notify: thread/tid.4712\n"
			   "ClockID: -6\n"
			   "ID: 0\n"
			   "signal: 0/0000000000000000\n"
			   "notify: none/pid.4710\n"
			   "ClockID: 1\n";

static bool is_of_thread(int id)
{
	return proc_timers_is_of_thread(text, strlen(text), id);
}

static void test_proc_timers__tells_a_thread_from_the_process(void **state)
{
	(void)state;
	assert_true(is_of_thread(12));
	assert_false(is_of_thread(2));
	assert_true(is_of_thread(1));
	assert_false(is_of_thread(0));
}

static void test_proc_timers__says_nothing_of_one_that_is_not_there(void **state)
{
	(void)state;
	assert_false(is_of_thread(3));
	assert_false(is_of_thread(-1));
	assert_false(proc_timers_is_of_thread("", 0, 0));
	assert_false(proc_timers_is_of_thread("notify: signal/tid.1\n", 21, 0));
	assert_false(proc_timers_is_of_thread("ID: \nnotify: signal/tid.1\n", 26, 0));
	assert_false(proc_timers_is_of_thread("ID: 0\nnotify: signal\n", 21, 0));
}

static void test_proc_timers__believes_no_line_that_is_cut_off(void **state)
{
	size_t whole = (size_t)(strstr(text, "ClockID") - text);

	(void)state;
	assert_true(proc_timers_is_of_thread(text, whole, 12));
	for (size_t nr_bytes = 0; nr_bytes < whole; nr_bytes++)
		assert_false(proc_timers_is_of_thread(text, nr_bytes, 12));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_proc_timers__tells_a_thread_from_the_process),
		cmocka_unit_test(test_proc_timers__says_nothing_of_one_that_is_not_there),
		cmocka_unit_test(test_proc_timers__believes_no_line_that_is_cut_off),
	};

	return cmocka_run_group_tests_name("proc/timers", tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "proc/pidfd.h"

static void test_proc_pidfd__reads_the_process_of_its_text(void **state)
{
	static const char text[] = "pos:\t0\nflags:\t02000002\nmnt_id:\t15\nino:\t3\nPid:\t4711\n"
				   "NSpid:\t4711\t5\n";

	(void)state;
	assert_int_equal(proc_pidfd_parse(text, strlen(text)), 4711);
	assert_int_equal(proc_pidfd_parse("Pid:\t-1\n", 8), 0); /* it has been reaped */
	assert_int_equal(proc_pidfd_parse("Pid:", 4), 0);
	assert_int_equal(proc_pidfd_parse("pos:\t0\nflags:\t02\n", 17), 0);
	assert_int_equal(proc_pidfd_parse("", 0), 0);
	assert_int_equal(proc_pidfd_parse("Pid:\t99999999999\n", 17), 0);
}

static void test_proc_pidfd__is_found_among_descriptors(void **state)
{
	int pidfd;

	(void)state;
	assert_false(proc_may_hold_pidfd(getpid(), getpid()));
	pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (pidfd < 0)
		skip(); /* before Linux 5.3 */
	assert_true(proc_may_hold_pidfd(getpid(), getpid()));
	assert_false(proc_may_hold_pidfd(getpid(), getppid()));
	assert_int_equal(proc_pidfd_process(getpid(), pidfd), getpid());
	assert_int_equal(proc_pidfd_process(getpid(), STDERR_FILENO), 0);
	close(pidfd);
	assert_false(proc_may_hold_pidfd(getpid(), getpid()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_proc_pidfd__reads_the_process_of_its_text),
		cmocka_unit_test(test_proc_pidfd__is_found_among_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

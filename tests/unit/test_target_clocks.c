// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/target_priv.h"

/* This thread, with a schedstat of our own words. */
static bool clocks_with(const char *text, struct proc_schedstat *clocks)
{
	FILE *file = tmpfile();
	struct tracee_private priv = {0};
	struct tracee self = {.tid = getpid(), .tgid = getpid(), .priv = &priv};
	bool got;

	assert_non_null(file);
	fputs(text, file);
	fflush(file);
	self.schedstat_fd = fileno(file);
	got = target_clocks(&self, clocks);
	fclose(file);
	return got;
}

static void sleep_shortly(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void test_target_clocks__are_those_of_schedstat(void **state)
{
	struct proc_schedstat clocks;

	(void)state;
	assert_true(clocks_with("1234 56 7\n", &clocks));
	assert_true(clocks.cpu_ns == 1234 && clocks.runq_ns == 56 && clocks.pcount == 7);
	assert_false(clocks_with("nonsense", &clocks));
}

static void test_target_clocks__count_switches_where_schedstat_counts_nothing(void **state)
{
	struct proc_schedstat before;
	struct proc_schedstat after;

	(void)state;
	assert_true(clocks_with("0 0 0\n", &before));
	sleep_shortly();
	assert_true(clocks_with("0 0 0\n", &after));
	assert_true(after.pcount > before.pcount);
	assert_true(after.cpu_ns >= before.cpu_ns);
}

static void test_target_clocks__of_a_thread_that_is_gone(void **state)
{
	struct tracee gone = {.tid = 0, .tgid = 0, .schedstat_fd = -1};
	struct proc_schedstat clocks;

	(void)state;
	assert_false(target_clocks(&gone, &clocks));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_target_clocks__are_those_of_schedstat),
		cmocka_unit_test(test_target_clocks__count_switches_where_schedstat_counts_nothing),
		cmocka_unit_test(test_target_clocks__of_a_thread_that_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

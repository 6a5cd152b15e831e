// SPDX-License-Identifier: GPL-2.0-or-later
/* Ids and what belongs to them, through growth and removal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/pid_table.h"

#define NR 5000

static void test_pid_table__keeps_what_was_set_until_it_is_removed(void **state)
{
	static char values[NR];
	struct pid_table table = {0};

	(void)state;
	assert_null(pid_table_get(&table, 1));
	for (pid_t pid = 1; pid < NR; pid++)
		pid_table_set(&table, pid, &values[pid]);
	for (pid_t pid = 1; pid < NR; pid += 2)
		pid_table_remove(&table, pid);
	pid_table_remove(&table, NR + 1); /* is not there */
	for (pid_t pid = 1; pid < NR; pid++)
		assert_ptr_equal(pid_table_get(&table, pid), pid % 2 ? NULL : &values[pid]);
	assert_int_equal(table.nr, (NR - 1) / 2);
	pid_table_set(&table, 2, values);
	assert_ptr_equal(pid_table_get(&table, 2), values);
	assert_int_equal(table.nr, (NR - 1) / 2);
	pid_table_release(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pid_table__keeps_what_was_set_until_it_is_removed),
	};

	return cmocka_run_group_tests_name("base/pid_table", tests, NULL, NULL);
}

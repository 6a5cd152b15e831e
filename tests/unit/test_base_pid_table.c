// SPDX-License-Identifier: GPL-2.0-or-later
/* Ids and what belongs to them, through growth and removal. */
#include "base/pid_table.h"
#include "tests/unit/unit.h"

#define NR 5000

TEST(pid_table, keeps_what_was_set_until_it_is_removed)
{
	static char values[NR];
	struct pid_table table = {0};

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

// SPDX-License-Identifier: GPL-2.0-or-later
/* main() of each unit program. */
#include "tests/unit/unit.h"

#include <errno.h>

#include "base/alloc.h"

static struct unit_test *first;
static CMFixtureFunction group_set_up, group_tear_down;

/* Constructors may come in any order. */
void unit_add_test(struct unit_test *test)
{
	struct unit_test **place = &first;

	while (*place && (*place)->line < test->line)
		place = &(*place)->next;
	test->next = *place;
	*place = test;
}

void unit_set_group(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	group_set_up = set_up;
	group_tear_down = tear_down;
}

/* An argument selects tests by name, where * and ? stand for any. */
int main(int argc, char **argv)
{
	size_t nr = 0, i = 0;
	struct CMUnitTest *tests;
	int nr_failed;

	for (struct unit_test *test = first; test; test = test->next)
		nr++;
	if (!nr) {
		fprintf(stderr, "%s: no tests\n", argv[0]);
		return EXIT_FAILURE;
	}
	tests = xcalloc(nr, sizeof(*tests));
	for (struct unit_test *test = first; test; test = test->next)
		tests[i++] = test->test;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	nr_failed = _cmocka_run_group_tests(program_invocation_short_name, tests, nr, group_set_up,
					    group_tear_down);
	free(tests);
	return nr_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

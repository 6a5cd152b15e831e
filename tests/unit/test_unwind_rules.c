// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "tests/unit/unit.h"
#include "unwind/rules.h"

TEST(rules, are_complete_and_have_names_of_their_own)
{
	assert_string_equal(unwind_rule_name(UNWIND_RULE_NONE), "none");
	for (int i = UNWIND_RULE_NONE + 1; i < UNWIND_RULE_COUNT; i++) {
		const struct rule *rule = &unwind_rules[i];

		assert_non_null(rule->name);
		assert_non_null(rule->applies);
		assert_non_null(rule->row);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(rule->name, unwind_rules[j].name);
	}
}

/* A row that is kept for a place may not depend on a trial on one stack. */
TEST(rules, of_places_make_no_trials)
{
	unsigned int nr = 0;

	for (int i = 0; i < RULES_OF_STACK; i++)
		assert_int_equal(unwind_rules[i].trials, 0);
	for (int i = RULES_OF_STACK; i < UNWIND_RULE_COUNT; i++)
		nr += unwind_rules[i].trials > 0;
	assert_int_equal(nr, 3);
}

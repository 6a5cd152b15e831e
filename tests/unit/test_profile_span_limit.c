// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/span_limit.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "tests/unit/unit.h"

TEST(span_limit, has_one_function_or_two)
{
	static const struct {
		const char *text, *first, *second;
	} rows[] = {
		{"begin:end", "begin", "end"},
		{"ns::begin:ns::end", "ns::begin", "ns::end"},
		{"ns::begin:end", "ns::begin", "end"},
		{"begin:ns::end", "begin", "ns::end"},
		{"work", NULL, NULL},
		{"ns::work", NULL, NULL},
		{"a::b::work", NULL, NULL},
		{"work:", NULL, NULL},
		{":work", NULL, NULL},
		{"::work", NULL, NULL},
		{"", NULL, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *first, *second;

		assert_int_equal(span_pair_read(rows[i].text, &first, &second),
				 rows[i].first != NULL);
		assert_int_equal(span_is_pair(rows[i].text), rows[i].first != NULL);
		if (rows[i].first) {
			assert_string_equal(first, rows[i].first);
			assert_string_equal(second, rows[i].second);
		} else {
			assert_null(first);
			assert_null(second);
		}
		free(first);
		free(second);
	}
}

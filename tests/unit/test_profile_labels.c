// SPDX-License-Identifier: GPL-2.0-or-later
/* Sets of labels: shared, and bounded in number. */
#include <stdio.h>

#include "base/strtab.h"
#include "profile/labels.h"
#include "unit.h"

TEST(labels, share_what_they_begin_with)
{
	struct profile_labels labels = {.nr = 0};
	struct strtab *strings = strtab_new();
	uint32_t route = profile_labels_add(&labels, strings, 0, "http.route", "/a");
	uint32_t eve = profile_labels_add(&labels, strings, route, "user", "eve");

	assert_int_equal(profile_labels_add(&labels, strings, 0, "http.route", "/a"), route);
	assert_int_equal(profile_labels_add(&labels, strings, route, "user", "eve"), eve);
	assert_int_not_equal(profile_labels_add(&labels, strings, route, "user", "bob"), eve);
	assert_int_equal(labels.nr, 3);
	assert_int_equal(labels.rows[eve - 1].outer, route);
	profile_labels_release(&labels);
	strtab_free(strings);
}

/* A program has a new span for each request, for days. */
TEST(labels, of_ever_new_values_take_no_memory_beyond_their_limit)
{
	struct profile_labels labels = {.nr = 0};
	struct strtab *strings = strtab_new();
	uint32_t route = profile_labels_add(&labels, strings, 0, "http.route", "/a");
	size_t nr_bytes = 0;
	char span[17];

	for (unsigned int i = 0; i < LABEL_ROWS_MAX + 1000; i++) {
		snprintf(span, sizeof(span), "%016x", i);
		profile_labels_add(&labels, strings, route, "span_id", span);
		if (i == LABEL_ROWS_MAX)
			nr_bytes = strtab_nr_bytes(strings);
	}
	assert_int_equal(labels.nr, LABEL_ROWS_MAX);
	assert_int_equal(strtab_nr_bytes(strings), nr_bytes);
	assert_int_equal(profile_labels_add(&labels, strings, route, "span_id", span), 0);
	/* Labels from before are still told apart. */
	assert_int_equal(profile_labels_add(&labels, strings, 0, "http.route", "/a"), route);
	assert_int_not_equal(
		profile_labels_add(&labels, strings, route, "span_id", "0000000000000000"), 0);
	profile_labels_release(&labels);
	strtab_free(strings);
}

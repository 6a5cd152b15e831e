// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/serials.h"

static int objects[4];

static void test_serials__finds_what_has_not_been_removed(void **state)
{
	struct serials serials = {0};

	(void)state;
	assert_null(serials_get(&serials, 0));
	assert_int_equal(serials_add(&serials, &objects[0]), 0);
	assert_int_equal(serials_add(&serials, &objects[1]), 1);
	serials_remove(&serials, 0);
	assert_null(serials_get(&serials, 0));
	assert_ptr_equal(serials_get(&serials, 1), &objects[1]);
	assert_int_equal(serials_add(&serials, &objects[2]), 2);
	assert_null(serials_get(&serials, 3));
	assert_null(serials_get(&serials, UINT32_MAX));
	serials_release(&serials);
}

/* A shell that lives on while its commands come and go. */
static void test_serials__keeps_nothing_of_what_has_come_and_gone(void **state)
{
	struct serials serials = {0};
	uint32_t nr = 1000 * SERIALS_PER_CHUNK;
	size_t nr_chunks = 0;

	(void)state;
	assert_int_equal(serials_add(&serials, &objects[0]), 0);
	for (uint32_t i = 1; i < nr; i++) {
		uint32_t serial = serials_add(&serials, &objects[1]);

		assert_int_equal(serial, i);
		serials_remove(&serials, serial);
	}
	for (size_t i = 0; i < serials.nr_chunks; i++)
		nr_chunks += serials.chunks[i] != NULL;
	assert_int_equal(nr_chunks, 1);
	assert_ptr_equal(serials_get(&serials, 0), &objects[0]);
	serials_release(&serials);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_serials__finds_what_has_not_been_removed),
		cmocka_unit_test(test_serials__keeps_nothing_of_what_has_come_and_gone),
	};

	return cmocka_run_group_tests_name("collector serials", tests, NULL, NULL);
}

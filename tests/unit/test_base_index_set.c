// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/index_set.h"

/* The owner is an array of numbers; an element is its value. */
static bool same_number(const void *owner, uint32_t index, const void *key)
{
	return ((const uint64_t *)owner)[index] == *(const uint64_t *)key;
}

static void test_index_set__finds_what_was_added(void **state)
{
	static uint64_t numbers[10000];
	struct index_set set = {0};
	uint64_t missing = 7;

	(void)state;
	assert_int_equal(index_set_find(&set, 0, same_number, numbers, &missing), INDEX_NONE);
	for (uint32_t i = 0; i < 10000; i++) {
		numbers[i] = (uint64_t)i * 64 + 100;
		index_set_add(&set, hash_u64(numbers[i]), i);
	}
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(index_set_find(&set, hash_u64(numbers[i]), same_number, numbers,
						&numbers[i]),
				 i);
	assert_int_equal(index_set_find(&set, hash_u64(missing), same_number, numbers, &missing),
			 INDEX_NONE);
	assert_true(set.nr <= set.cap - set.cap / 4);
	index_set_release(&set);
	assert_int_equal(set.cap, 0);
}

/* All hashes equal: slow, but right. */
static void test_index_set__survives_collisions(void **state)
{
	static uint64_t numbers[300];
	struct index_set set = {0};
	uint64_t missing = 1;

	(void)state;
	for (uint32_t i = 0; i < 300; i++) {
		numbers[i] = 1000 + i;
		index_set_add(&set, UINT64_MAX, i);
	}
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(
			index_set_find(&set, UINT64_MAX, same_number, numbers, &numbers[i]), i);
	assert_int_equal(index_set_find(&set, UINT64_MAX, same_number, numbers, &missing),
			 INDEX_NONE);
	index_set_release(&set);
}

static void test_hash__differs_by_every_bit_and_length(void **state)
{
	uint8_t bytes[16] = {0};
	uint64_t zero = hash_bytes(bytes, sizeof(bytes));

	(void)state;
	for (size_t bit = 0; bit < sizeof(bytes) * 8; bit++) {
		bytes[bit / 8] = (uint8_t)(1U << bit % 8);
		assert_int_not_equal(hash_bytes(bytes, sizeof(bytes)), zero);
		bytes[bit / 8] = 0;
	}
	for (size_t nr = 0; nr < sizeof(bytes); nr++)
		assert_int_not_equal(hash_bytes(bytes, nr), hash_bytes(bytes, nr + 1));
	assert_int_not_equal(hash_mix(1, 2), hash_mix(2, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index_set__finds_what_was_added),
		cmocka_unit_test(test_index_set__survives_collisions),
		cmocka_unit_test(test_hash__differs_by_every_bit_and_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

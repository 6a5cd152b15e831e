// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/index_set.h"
#include "tests/unit/unit.h"

/* The owner is an array of numbers; an element is its value. */
static bool same_number(const void *owner, uint32_t index, const void *key)
{
	return ((const uint64_t *)owner)[index] == *(const uint64_t *)key;
}

TEST(index_set, finds_what_was_added)
{
	static uint64_t numbers[10000];
	struct index_set set = {0};
	uint64_t missing = 7;

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
TEST(index_set, survives_collisions)
{
	static uint64_t numbers[300];
	struct index_set set = {0};
	uint64_t missing = 1;

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

TEST(hash, differs_by_every_bit_and_length)
{
	uint8_t bytes[16] = {0};
	uint64_t zero = hash_bytes(bytes, sizeof(bytes));

	for (size_t bit = 0; bit < sizeof(bytes) * 8; bit++) {
		bytes[bit / 8] = (uint8_t)(1U << bit % 8);
		assert_int_not_equal(hash_bytes(bytes, sizeof(bytes)), zero);
		bytes[bit / 8] = 0;
	}
	for (size_t nr = 0; nr < sizeof(bytes); nr++)
		assert_int_not_equal(hash_bytes(bytes, nr), hash_bytes(bytes, nr + 1));
	assert_int_not_equal(hash_mix(1, 2), hash_mix(2, 1));
}

/* The factor of hash_mix(); without a key, one could reckon with it. */
#define WEYL	     UINT64_C(0x9e3779b97f4a7c15)
#define FIRST_WORD   UINT64_C(0x6162636465666768)
#define FIRST_WORD_2 UINT64_C(0x7172737475767778)

/* Two texts of 16 bytes that met for whoever knew the function. */
TEST(hash, cannot_be_made_to_meet)
{
	uint64_t a[2] = {FIRST_WORD, 0}, b[2] = {FIRST_WORD_2, 0};
	uint64_t after_a = scramble_u64(sizeof(a) * WEYL + a[0] + 1);
	uint64_t after_b = scramble_u64(sizeof(b) * WEYL + b[0] + 1);

	b[1] = (after_a - after_b) * WEYL;
	assert_int_equal(scramble_u64(after_a * WEYL + a[1] + 1),
			 scramble_u64(after_b * WEYL + b[1] + 1));
	assert_int_not_equal(hash_bytes(a, sizeof(a)), hash_bytes(b, sizeof(b)));
	assert_int_not_equal(hash_u64(0), scramble_u64(0));
}

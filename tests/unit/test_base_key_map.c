// SPDX-License-Identifier: GPL-2.0-or-later
/* Pairs of an owner and a key, with a number. */
#include "base/alloc.h"
#include "base/key_map.h"
#include "tests/unit/unit.h"

TEST(key_map, an_empty_one_has_nothing)
{
	struct key_map map = {0};
	uint32_t value;

	assert_false(key_map_find(&map, 1, 0x1000, &value));
	assert_false(key_map_take(&map, 1, 0x1000, &value));
	key_map_release(&map);
}

TEST(key_map, owners_have_keys_of_their_own)
{
	struct key_map map = {0};
	uint32_t value;

	key_map_put(&map, 1, 0x1000, 10);
	key_map_put(&map, 2, 0x1000, 20);
	key_map_put(&map, 2, 0x1000, 21);
	assert_int_equal(key_map_nr(&map), 2);
	assert_true(key_map_find(&map, 1, 0x1000, &value));
	assert_int_equal(value, 10);
	assert_true(key_map_take(&map, 2, 0x1000, &value));
	assert_int_equal(value, 21);
	assert_false(key_map_find(&map, 2, 0x1000, &value));
	assert_false(key_map_find(&map, 1, 0, &value));
	key_map_release(&map);
}

#define KEYS 4096

/* The same against a plain array, by steps of all sizes, while it grows and empties. */
TEST(key_map, agrees_with_an_array)
{
	static const uint64_t distances[] = {1, 16, 48, 1024, 4096};
	struct key_map map = {0};
	uint32_t *there = xcalloc(KEYS, sizeof(*there)), value;
	size_t nr = 0;

	srand(7);
	for (uint32_t i = 1; i < 200000; i++) {
		uint64_t distance = distances[i / 40000];
		size_t at = (size_t)rand() % KEYS;
		uint64_t key = 0x7f0000001000 + at * distance;
		uint32_t owner = (uint32_t)at % 3;

		if (i % 40000 == 0) {
			for (at = 0; at < KEYS; at++) {
				key = 0x7f0000001000 + at * distances[i / 40000 - 1];
				assert_int_equal(key_map_take(&map, (uint32_t)at % 3, key, &value),
						 there[at] != 0);
				there[at] = 0;
			}
			assert_int_equal(key_map_nr(&map), 0);
			nr = 0;
			continue;
		}
		if (rand() % 5 < 3) {
			key_map_put(&map, owner, key, i);
			nr += !there[at];
			there[at] = i;
		} else {
			assert_int_equal(key_map_take(&map, owner, key, &value), there[at] != 0);
			assert_true(!there[at] || value == there[at]);
			nr -= there[at] != 0;
			there[at] = 0;
		}
		assert_int_equal(key_map_nr(&map), nr);
		assert_int_equal(key_map_find(&map, owner, key, &value), there[at] != 0);
	}
	key_map_release(&map);
	free(there);
}

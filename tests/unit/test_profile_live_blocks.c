// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of blocks that are alive. */
#include "base/alloc.h"
#include "profile/live_blocks.h"
#include "tests/unit/unit.h"

static struct live_block numbered(uint32_t number)
{
	return (struct live_block){
		.cohort = number, .size = ~number, .born = 3 * number, .number = number};
}

static bool is_number(const struct live_block *block, uint32_t number)
{
	return block->cohort == number && block->size == ~number && block->born == 3 * number &&
	       block->number == number;
}

TEST(live_blocks, an_empty_table_has_nothing)
{
	struct live_blocks blocks = {0};
	struct live_block block;

	assert_null(live_blocks_find(&blocks, 1, 0x1000));
	assert_false(live_blocks_take(&blocks, 1, 0x1000, &block));
	live_blocks_release(&blocks);
}

TEST(live_blocks, processes_have_blocks_of_their_own)
{
	struct live_blocks blocks = {0};
	struct live_block block, former;

	for (uint32_t i = 1; i <= 3; i++) {
		block = numbered(i);
		assert_false(live_blocks_put(&blocks, i, 0x1000, &block, &former));
	}
	block = numbered(20);
	assert_true(live_blocks_put(&blocks, 2, 0x1000, &block, &former));
	assert_true(is_number(&former, 2));
	assert_int_equal(blocks.nr, 3);
	assert_true(live_blocks_take(&blocks, 2, 0x1000, &block));
	assert_true(is_number(&block, 20));
	assert_null(live_blocks_find(&blocks, 2, 0x1000));
	assert_true(is_number(live_blocks_find(&blocks, 3, 0x1000), 3));
	assert_null(live_blocks_find(&blocks, 1, 0));
	assert_false(live_blocks_take(&blocks, 1, 0, &block));
	live_blocks_release(&blocks);
}

/* It has as many blocks as it says, and a free slot at its end; a large one is not too large. */
static void check_table(const struct live_blocks *blocks, size_t most_blocks)
{
	size_t nr = 0;

	for (size_t i = 0; i < blocks->nr_slots; i++)
		nr += blocks->slots[i].address != 0;
	assert_int_equal(nr, blocks->nr);
	assert_int_equal(blocks->slots[blocks->nr_slots - 1].address, 0);
	if (most_blocks > 100000)
		assert_true(blocks->nr_slots * sizeof(*blocks->slots) <= 64 * most_blocks);
}

#define PLACES 300000

/* The same against a plain array, by steps of all sizes, while it grows and empties. */
TEST(live_blocks, agrees_with_an_array)
{
	static const uint64_t distances[] = {1, 16, 48, 1024, 4096};
	uint32_t *there = xcalloc(PLACES, sizeof(*there));
	struct live_block block, former;

	srand(7);
	for (size_t step = 0; step < ARRAY_SIZE(distances); step++) {
		struct live_blocks blocks = {0};
		size_t nr = 0, most = 0;

		for (uint32_t i = 1; i < 4 * PLACES; i++) {
			size_t at = (size_t)rand() % PLACES;
			uint64_t address = 0x7f0000001000 + at * distances[step];
			uint32_t process = (uint32_t)at % 3;

			if (rand() % 5 < 3) {
				block = numbered(i);
				assert_int_equal(
					live_blocks_put(&blocks, process, address, &block, &former),
					there[at] != 0);
				assert_true(!there[at] || is_number(&former, there[at]));
				nr += !there[at];
				there[at] = i;
			} else {
				assert_int_equal(
					live_blocks_take(&blocks, process, address, &block),
					there[at] != 0);
				assert_true(!there[at] || is_number(&block, there[at]));
				nr -= there[at] != 0;
				there[at] = 0;
			}
			most = nr > most ? nr : most;
			assert_int_equal(blocks.nr, nr);
		}
		check_table(&blocks, most);
		for (size_t at = 0; at < PLACES; at++) {
			uint64_t address = 0x7f0000001000 + at * distances[step];

			assert_int_equal(
				live_blocks_take(&blocks, (uint32_t)at % 3, address, &block),
				there[at] != 0);
			assert_true(!there[at] || is_number(&block, there[at]));
			there[at] = 0;
		}
		check_table(&blocks, most);
		live_blocks_release(&blocks);
	}
	free(there);
}

/* Behind the last group there is room for what its blocks displace, however many they are. */
TEST(live_blocks, the_last_group_is_as_good_as_others)
{
	struct live_blocks blocks = {0};
	struct live_block block = numbered(1), former;
	uint64_t address = 0x10000;
	uint32_t nr = 0;

	live_blocks_put(&blocks, 1, address, &block, &former);
	/* Blocks of all processes at addresses of their last group, as the table is now. */
	for (uint32_t process = 2; nr < 2000; process++) {
		if (live_blocks_hash(process, address) >> 23 != 0x1ff)
			continue;
		block = numbered(process);
		assert_false(live_blocks_put(&blocks, process, address + process % 128, &block,
					     &former));
		nr++;
	}
	check_table(&blocks, nr);
	for (uint32_t process = 2; nr; process++) {
		if (live_blocks_hash(process, address) >> 23 != 0x1ff)
			continue;
		assert_true(live_blocks_take(&blocks, process, address + process % 128, &block));
		assert_true(is_number(&block, process));
		nr--;
	}
	check_table(&blocks, 1);
	live_blocks_release(&blocks);
}

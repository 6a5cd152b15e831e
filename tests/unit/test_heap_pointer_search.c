// SPDX-License-Identifier: GPL-2.0-or-later
/* Which blocks do words point to? */
#include "heap/pointer_search.h"
#include "tests/unit/unit.h"

#define NR(array) (sizeof(array) / sizeof(*(array)))

static bool is_found(const struct pointer_search *search, uint32_t id)
{
	for (size_t i = 0; i < search->nr; i++) {
		if (search->blocks[i].id == id)
			return search->blocks[i].is_found;
	}
	fail_msg("no block %u", id);
	return false;
}

static void search_words(struct pointer_search *search, uint64_t address, const uint64_t *words,
			 size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		pointer_search_bytes(search, address ? address + i * sizeof(*words) : 0, &words[i],
				     1);
}

static void expect_found(const struct pointer_search *search, const char *expected)
{
	char found[16] = "";

	for (uint32_t i = 0; i < search->nr; i++)
		found[i] = is_found(search, i) ? '+' : '-';
	assert_string_equal(found, expected);
}

TEST(pointer_search, to_the_first_byte_or_any_other)
{
	struct pointer_block blocks[] = {
		{.address = 0x5000, .size = 0x100, .id = 0},
		{.address = 0x1000, .size = 16, .id = 1},
		{.address = 0x3000, .size = 32, .id = 2},
		{.address = 0x2000, .size = 16, .id = 3},
		{.address = 0x4000, .size = 8, .id = 4},
		{.address = 0x1010, .size = 16, .id = 5},
	};
	/* First, last and middle bytes; before, after and between. */
	static const uint64_t words[] = {0x50ff, 0x1000, 0x3011, 0x1fff,     0x2010,
					 0x4008, 0xfff,	 0x5100, UINT64_MAX, 0};
	struct pointer_search search;

	pointer_search_init(&search, blocks, NR(blocks));
	search_words(&search, 0x9000, words, NR(words));
	expect_found(&search, "+++---");
}

TEST(pointer_search, blocks_within_others)
{
	struct pointer_block blocks[] = {
		{.address = 0x1000, .size = 0x1000, .id = 0},
		{.address = 0x1100, .size = 64, .id = 1},
		{.address = 0x1200, .size = 64, .id = 2},
		{.address = 0x3000, .size = 64, .id = 3},
	};
	static const uint64_t to_the_rest[] = {0x1240}, to_both[] = {0x1110};
	struct pointer_search search;

	pointer_search_init(&search, blocks, NR(blocks));
	search_words(&search, 0x9000, to_the_rest, 1);
	expect_found(&search, "+---");
	pointer_search_init(&search, blocks, NR(blocks));
	blocks[0].is_found = false;
	search_words(&search, 0x9000, to_both, 1);
	expect_found(&search, "++--");
}

TEST(pointer_search, at_any_address)
{
	struct pointer_block blocks[] = {{.address = 0x112233445500, .size = 16, .id = 0},
					 {.address = 0x112233446600, .size = 16, .id = 1}};
	static const uint8_t bytes[] = {1, 0x01, 0x55, 0x44, 0x33, 0x22, 0x11, 0, 0,
					1, 0x0f, 0x66, 0x44, 0x33, 0x22, 0x11, 0, 0};
	struct pointer_search search;

	pointer_search_init(&search, blocks, NR(blocks));
	pointer_search_bytes(&search, 0x9000, bytes, 10); /* the second word begins after these */
	expect_found(&search, "+-");
	pointer_search_bytes(&search, 0x9000, bytes, 11);
	expect_found(&search, "++");
}

/* As the ends of strings and small integers with zeros around them seem to. */
TEST(pointer_search, low_addresses_that_are_not_aligned_are_no_proof)
{
	struct pointer_block blocks[] = {{.address = 0x23c5680, .size = 1 << 20, .id = 0},
					 {.address = 0x100000000, .size = 1 << 20, .id = 1},
					 {.address = 0x640000, .size = 16, .id = 2}};
	static const uint64_t flags[] = {0, 0x246, 0}, words[] = {0x2460000};
	static const uint64_t high[] = {0x1000000000000, 0, 0};
	struct pointer_search search;

	pointer_search_init(&search, blocks, NR(blocks));
	pointer_search_bytes(&search, 0x9000, flags, 2 * sizeof(*flags));
	pointer_search_bytes(&search, 0x9000, high, 2 * sizeof(*high));
	expect_found(&search, "-+-");
	for (size_t i = 0; i < NR(blocks); i++)
		assert_int_equal(search.blocks[i].is_perhaps, search.blocks[i].id == 0);
	pointer_search_bytes(&search, 0x9000, words, 1);
	expect_found(&search, "++-");
}

TEST(pointer_search, just_after_a_block)
{
	struct pointer_block blocks[] = {{.address = 0x1000, .size = 16, .id = 0},
					 {.address = 0x1010, .size = 16, .id = 1},
					 {.address = 0x1014, .size = 12, .id = 2},
					 {.address = 0x3000, .size = 8, .id = 3}};
	static const uint64_t words[] = {0x1010, 0x1020};
	struct pointer_search search;

	pointer_search_init(&search, blocks, NR(blocks));
	search_words(&search, 0x9000, words, NR(words));
	expect_found(&search, "-+--");
	for (size_t i = 0; i < NR(blocks); i++)
		assert_int_equal(search.blocks[i].is_perhaps, search.blocks[i].id != 3);
	/* A pointer in the block itself does not count. */
	pointer_search_init(&search, blocks, NR(blocks));
	for (size_t i = 0; i < NR(blocks); i++)
		search.blocks[i].is_perhaps = false;
	search_words(&search, 0x1000, words, 1);
	assert_false(search.blocks[0].is_perhaps);
}

/* A pointer in another block does. */
TEST(pointer_search, pointers_within_the_block_itself_do_not_count)
{
	struct pointer_block blocks[] = {{.address = 0x1000, .size = 24, .id = 0},
					 {.address = 0x1018, .size = 24, .id = 1}};
	static const uint64_t words[] = {0x1000, 0x1008, 0x1018, 0x1018, 0, 0, 0x1030};
	static const uint64_t back[] = {0x1017};
	struct pointer_search search;

	pointer_search_init(&search, blocks, NR(blocks));
	search_words(&search, 0x1008, words, 1);
	expect_found(&search, "--");
	search_words(&search, 0x1000, words, NR(words));
	expect_found(&search, "-+");
	search_words(&search, 0x1028, back, 1);
	expect_found(&search, "++");
}

TEST(pointer_search, empty_blocks_and_the_end_of_memory)
{
	struct pointer_block blocks[] = {{.address = 0x1000, .size = 0, .id = 0},
					 {.address = UINT64_MAX - 15, .size = 64, .id = 1},
					 {.address = 0x1001, .size = 0, .id = 2}};
	static const uint64_t words[] = {0x1000, UINT64_MAX - 1};
	struct pointer_search search;

	pointer_search_init(&search, blocks, NR(blocks));
	search_words(&search, 0, words, NR(words));
	expect_found(&search, "++-");
}

TEST(pointer_search, nothing_to_find)
{
	static const uint64_t words[] = {0, 1, UINT64_MAX};
	struct pointer_search search;

	pointer_search_init(&search, NULL, 0);
	search_words(&search, 0x1000, words, NR(words));
	assert_int_equal(search.nr, 0);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *state >> 33;
}

/* Compared with the definition, for random blocks in, across and beside each other. */
TEST(pointer_search, blocks_within_blocks)
{
	uint64_t random = 1;

	for (int round = 0; round < 300; round++) {
		struct pointer_block blocks[40];
		struct pointer_search search;
		uint64_t words[8];
		size_t nr = 1 + next_random(&random) % 40;

		for (size_t i = 0; i < nr; i++)
			blocks[i] = (struct pointer_block){
				.address = 1000 + next_random(&random) % 400,
				.size = next_random(&random) % (i % 4 ? 12 : 200),
				.id = (uint32_t)i};
		for (size_t i = 0; i < 8; i++)
			words[i] = 1000 + next_random(&random) % 600;
		pointer_search_init(&search, blocks, nr);
		search_words(&search, 0, words, 8);
		for (size_t i = 0; i < nr; i++) {
			uint64_t size = blocks[i].size ? blocks[i].size : 1;
			bool is_found = false;

			for (size_t k = 0; k < 8; k++)
				is_found |= words[k] - blocks[i].address < size;
			assert_int_equal(blocks[i].is_found, is_found);
		}
	}
}

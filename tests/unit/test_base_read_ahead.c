// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "base/read_ahead.h"
#include "tests/unit/unit.h"

/* Memory from FIRST up to END, each byte of which tells its address. */
#define FIRST UINT64_C(0x10000)
#define END   UINT64_C(0x13010)

struct memory {
	size_t nr_calls;
	uint64_t last; /* that was asked for */
};

static size_t read_memory(void *context, uint64_t address, void *out, size_t nr_bytes)
{
	struct memory *memory = context;
	size_t nr = 0;

	memory->nr_calls++;
	memory->last = address + nr_bytes - 1;
	for (; nr < nr_bytes && address + nr >= FIRST && address + nr < END; nr++)
		((uint8_t *)out)[nr] = (uint8_t)((address + nr) * 7 >> 3);
	return nr;
}

static struct read_ahead *read_ahead_of(struct memory *memory)
{
	struct read_ahead *ahead = xcalloc(1, sizeof(*ahead));

	ahead->read = read_memory;
	ahead->context = memory;
	return ahead;
}

static void assert_reads(struct read_ahead *ahead, uint64_t address, size_t nr_bytes, size_t nr)
{
	uint8_t bytes[64], expected[64];
	struct memory memory = {.nr_calls = 0};

	assert_int_equal(read_ahead_get(ahead, address, bytes, nr_bytes), nr);
	assert_int_equal(read_memory(&memory, address, expected, nr_bytes), nr);
	assert_memory_equal(bytes, expected, nr);
}

TEST(read_ahead, reads_in_a_page_are_one)
{
	struct memory memory = {.nr_calls = 0};
	cleanup_free struct read_ahead *ahead = read_ahead_of(&memory);

	for (uint64_t at = FIRST + 5; at + 64 <= FIRST + 4096; at += 61)
		assert_reads(ahead, at, 64, 64);
	assert_int_equal(memory.nr_calls, 1);
	assert_int_equal(memory.last, FIRST + 4095);
}

TEST(read_ahead, no_further_page_is_read)
{
	struct memory memory = {.nr_calls = 0};
	cleanup_free struct read_ahead *ahead = read_ahead_of(&memory);

	assert_reads(ahead, FIRST + 4096 - 64, 64, 64);
	assert_int_equal(memory.last, FIRST + 4095);
	assert_reads(ahead, FIRST + 4096 - 63, 64, 64); /* which ends in the next */
	assert_int_equal(memory.last, FIRST + 8191);
	assert_int_equal(memory.nr_calls, 2);
}

TEST(read_ahead, some_pages_of_a_file_are)
{
	struct memory memory = {.nr_calls = 0};
	cleanup_free struct read_ahead *ahead = read_ahead_of(&memory);

	ahead->is_of_file = true;
	assert_reads(ahead, FIRST + 4096 - 63, 64, 64);
	assert_int_equal(memory.last, FIRST + (READ_AHEAD_PAGES + 1) * 4096 - 1);
	assert_reads(ahead, FIRST + 3 * 4096 - 30, 64, 46); /* which ends after the last byte */
	assert_int_equal(memory.nr_calls, 2);
}

TEST(read_ahead, any_order_and_any_end)
{
	struct memory memory = {.nr_calls = 0};
	cleanup_free struct read_ahead *ahead = read_ahead_of(&memory);

	assert_reads(ahead, END - 20, 64, 20);
	assert_reads(ahead, END - 10, 10, 10);
	assert_reads(ahead, END - 10, 11, 10);
	assert_reads(ahead, FIRST + 100, 19, 19);
	assert_reads(ahead, FIRST + 99, 19, 19);
	assert_reads(ahead, FIRST - 1, 19, 0);
	assert_reads(ahead, END, 19, 0);
	assert_reads(ahead, UINT64_MAX - 10, 19, 0);
	assert_reads(ahead, FIRST, 19, 19);
}

TEST(read_ahead, more_than_fits)
{
	struct memory memory = {.nr_calls = 0};
	cleanup_free struct read_ahead *ahead = read_ahead_of(&memory);
	uint8_t bytes[3 * 4096];

	assert_int_equal(read_ahead_get(ahead, FIRST + 1, bytes, sizeof(bytes)),
			 min_u64(sizeof(bytes), END - FIRST - 1));
	assert_int_equal(bytes[4096], (uint8_t)((FIRST + 1 + 4096) * 7 >> 3));
}

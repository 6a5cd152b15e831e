// SPDX-License-Identifier: GPL-2.0-or-later
/* The way from a thread's pointer to its context, in copied memory. */
#include <string.h>

#include "base/address.h"
#include "snapshot/snapshot.h"
#include "snapshot/thread_context.h"
#include "snapshot/wanted.h"
#include "tests/unit/unit.h"

#define THREAD 0x7000
#define VECTOR 0x8010
#define BLOCK  0x9000
#define RECORD 0xa000

static void copy(struct snapshot *snapshot, uint64_t address, const void *bytes, size_t nr_bytes)
{
	memcpy(snapshot_add_wanted(snapshot, address, nr_bytes), bytes, nr_bytes);
}

static void copy_word(struct snapshot *snapshot, uint64_t address, uint64_t word)
{
	copy(snapshot, address, &word, sizeof(word));
}

/* With so many bytes of attributes, as it says. */
static void copy_record(struct snapshot *snapshot, uint64_t address, uint16_t nr_attribute_bytes,
			size_t nr_copied)
{
	uint8_t record[CONTEXT_BYTES_MAX] = {[24] = 1};

	memcpy(record + 26, &nr_attribute_bytes, sizeof(nr_attribute_bytes));
	copy(snapshot, address, record, nr_copied);
}

static const struct context_place of_program = {.access = CONTEXT_ACCESS_STATIC, .offset = -16};

static enum context_found find(const struct context_place *place, const struct snapshot *snapshot,
			       struct wanted_memory *wanted)
{
	struct context_record record = {.address = 0};

	*wanted = (struct wanted_memory){.nr = 0};
	return context_find(place, snapshot, wanted, &record);
}

TEST(thread_context, says_which_memory_is_missing)
{
	struct snapshot snapshot = {.data_pointer = THREAD};
	struct wanted_memory wanted;

	assert_int_equal(find(&of_program, &snapshot, &wanted), CONTEXT_MISSING);
	assert_int_equal(wanted.nr, 1);
	assert_int_equal(wanted.at[0].start, THREAD - 16);
	assert_int_equal(wanted.at[0].nr_bytes, 8);
	copy_word(&snapshot, THREAD - 16, RECORD);
	assert_int_equal(find(&of_program, &snapshot, &wanted), CONTEXT_MISSING);
	assert_int_equal(wanted.nr, 2);
	assert_int_equal(wanted.at[1].start, RECORD);
	assert_int_equal(wanted.at[1].nr_bytes, 128);
	copy_record(&snapshot, RECORD, 200, 128);
	assert_int_equal(find(&of_program, &snapshot, &wanted), CONTEXT_MISSING);
	assert_int_equal(wanted.at[1].nr_bytes, CONTEXT_HEADER_BYTES + 200);
	copy_record(&snapshot, RECORD, 200, CONTEXT_HEADER_BYTES + 200);
	assert_int_equal(find(&of_program, &snapshot, &wanted), CONTEXT_FOUND);
	snapshot_release(&snapshot);
}

/* The page behind it may not be mapped. */
TEST(thread_context, does_not_ask_for_the_next_page)
{
	struct snapshot snapshot = {.data_pointer = THREAD};
	struct wanted_memory wanted;

	copy_word(&snapshot, THREAD - 16, RECORD + 4096 - 30);
	assert_int_equal(find(&of_program, &snapshot, &wanted), CONTEXT_MISSING);
	assert_int_equal(wanted.at[1].nr_bytes, 30);
	snapshot_release(&snapshot);
}

TEST(thread_context, refuses_what_is_no_record)
{
	const uint64_t last = UINT64_MAX - 101;
	const struct {
		uint64_t pointer;
		uint16_t nr_attribute_bytes;
		enum context_found found;
	} cases[] = {
		{0, 0, CONTEXT_ABSENT},
		{RECORD + 1, 0, CONTEXT_WRONG},
		/* Where pointers have tags, what is left without one is no end of all addresses. */
		{last, 0, address_of_pointer(last) == last ? CONTEXT_WRONG : CONTEXT_MISSING},
		{RECORD, CONTEXT_BYTES_MAX - CONTEXT_HEADER_BYTES + 1, CONTEXT_TOO_LONG},
		{RECORD, UINT16_MAX, CONTEXT_TOO_LONG},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct snapshot snapshot = {.data_pointer = THREAD};
		struct wanted_memory wanted;

		copy_word(&snapshot, THREAD - 16, cases[i].pointer);
		copy_record(&snapshot, RECORD, cases[i].nr_attribute_bytes, 128);
		assert_int_equal(find(&of_program, &snapshot, &wanted), cases[i].found);
		assert_true(wanted.nr_bytes <= CONTEXT_BYTES_MAX + 64);
		snapshot_release(&snapshot);
	}
}

static const struct context_place of_library = {.access = CONTEXT_ACCESS_DYNAMIC,
						.offset = 24,
						.vector_at = 8,
						.module = 3,
						.generation = 5};

/* A thread whose loader's vector has a number of entries, as of a generation. */
static struct snapshot with_vector(uint64_t nr, uint64_t generation, uint64_t block)
{
	struct snapshot snapshot = {.data_pointer = THREAD};
	const uint64_t head[] = {nr, 0, generation};

	copy_word(&snapshot, THREAD + 8, VECTOR);
	copy(&snapshot, VECTOR - 16, head, sizeof(head));
	copy_word(&snapshot, VECTOR + 3 * 16, block);
	copy_word(&snapshot, BLOCK + 24, RECORD);
	copy_record(&snapshot, RECORD, 0, 128);
	return snapshot;
}

TEST(thread_context, goes_through_the_vector_of_a_library)
{
	static const struct {
		uint64_t nr, generation, block;
		enum context_found found;
	} cases[] = {
		{8, 5, BLOCK, CONTEXT_FOUND},	    {3, 6, BLOCK, CONTEXT_FOUND},
		{2, 6, BLOCK, CONTEXT_ABSENT}, /* it is too short */
		{8, 4, BLOCK, CONTEXT_ABSENT}, /* what it has is of another library */
		{8, 5, UINT64_MAX, CONTEXT_ABSENT}, {8, 5, 0, CONTEXT_ABSENT},
		{8, 5, BLOCK + 8, CONTEXT_MISSING},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct snapshot snapshot =
			with_vector(cases[i].nr, cases[i].generation, cases[i].block);
		struct wanted_memory wanted;

		assert_int_equal(find(&of_library, &snapshot, &wanted), cases[i].found);
		snapshot_release(&snapshot);
	}
}

TEST(thread_context, needs_the_pointer_of_the_thread)
{
	struct snapshot snapshot = {.data_pointer = 0};
	struct wanted_memory wanted;

	assert_int_equal(find(&of_program, &snapshot, &wanted), CONTEXT_ABSENT);
	assert_int_equal(wanted.nr, 0);
}

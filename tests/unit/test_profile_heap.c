// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "profile/heap_estimate.h"
#include "profile/heap_lives.h"
#include "profile/heap_survey.h"
#include "profile/profile.h"
#include "tests/unit/unit.h"

static struct profile *profile_of_two_threads(void)
{
	struct profile *profile = profile_new();
	struct profile_process process = {.pid = 10, .parent = PROCESS_NONE};
	struct profile_thread thread = {.tid = 10};

	profile_add_process(profile, &process);
	profile_add_thread(profile, &thread);
	thread.tid = 11;
	profile_add_thread(profile, &thread);
	return profile;
}

static struct profile_allocation block(uint64_t size_bytes, uint64_t mean_bytes)
{
	return (struct profile_allocation){
		.size_bytes = size_bytes, .mean_bytes = mean_bytes, .freed_by = THREAD_NONE};
}

TEST(heap, a_row_stands_for_blocks_by_its_chance)
{
	struct profile_allocation every = block(100, 0), small = block(64, 65536);
	struct profile_allocation large = block(1 << 30, 65536), as_mean = block(4096, 4096);
	struct profile_allocation empty = block(0, 1000);

	assert_float_equal(allocation_chance(&every), 1, 0);
	assert_float_equal(allocation_bytes(&every), 100, 0);
	/* One block of 64 bytes in 1024.5 is met if each 65536th byte is. */
	assert_float_equal(allocation_blocks(&small), 1024.5, 0.001);
	assert_float_equal(allocation_bytes(&small), 65568, 0.1);
	assert_float_equal(allocation_blocks(&large), 1, 1e-9);
	assert_float_equal(allocation_bytes(&large), 1073741824, 1);
	assert_float_equal(allocation_blocks(&as_mean), 1.581977, 1e-6);
	assert_float_equal(allocation_blocks(&empty), 1000.5, 0.001);
	assert_float_equal(allocation_bytes(&empty), 0, 0);
}

TEST(heap, blocks_are_freed_once_and_not_before_they_are_there)
{
	struct profile *profile = profile_of_two_threads();
	struct profile_allocation row = block(32, 0);
	const struct profile_allocation *rows;

	row.time_ns = 5000;
	row.thread.v = 1;
	assert_false(profile_has_heap(profile));
	assert_int_equal(profile_add_allocation(profile, &row), 0);
	assert_int_equal(profile_add_allocation(profile, &row), 1);
	row.time_ns = 10 * 1024;
	assert_int_equal(profile_add_allocation(profile, &row), 2);
	profile_free_allocation(profile, 2, 1 << 20, (struct thread_id){1});
	profile_free_allocation(profile, 0, 4999, THREAD_NONE);
	rows = profile->heap.allocations;
	assert_true(profile_has_heap(profile));
	assert_int_equal(rows[0].time_ns, 5000);
	assert_int_equal(rows[0].freed_ns, 5000);
	assert_int_equal(rows[0].freed_by.v, THREAD_NONE.v);
	assert_int_equal(rows[1].freed_ns, 0);
	assert_int_equal(rows[2].freed_ns, 1 << 20);
	assert_int_equal(rows[2].freed_by.v, 1);
	assert_int_equal(profile->heap.nr_freed, 2);
	assert_int_equal(profile->heap.freed[0], 2);
	assert_int_equal(profile->heap.freed[1], 0);
	profile_free(profile);
}

/* An end of 0 would say that a block is alive. */
TEST(heap, a_block_freed_at_the_beginning_is_freed)
{
	struct profile *profile = profile_of_two_threads();
	struct profile_allocation row = block(32, 0);

	profile_add_allocation(profile, &row);
	profile_free_allocation(profile, 0, 0, THREAD_NONE);
	assert_int_equal(profile->heap.allocations[0].freed_ns, 1024);
	profile_free(profile);
}

static void add(struct profile *profile, uint64_t time_ns, uint64_t freed_ns, uint64_t size_bytes,
		uint64_t mean_bytes)
{
	struct profile_allocation row = block(size_bytes, mean_bytes);

	row.time_ns = time_ns;
	row.freed_ns = freed_ns;
	profile_add_allocation(profile, &row);
}

/* One block that realloc() has moved twice, and another one beside it. */
TEST(heap_lives, run_from_the_first_allocation_to_the_end)
{
	struct profile *profile = profile_of_two_threads();
	struct heap_lives lives;
	struct heap_life life;

	add(profile, 1000, 4000, 10, 0);
	add(profile, 2000, 9000, 10, 0);
	add(profile, 4001, 6000, 20, 0);
	add(profile, 6001, 20000, 40, 0);
	profile->heap.allocations[2].former = 1;
	profile->heap.allocations[3].former = 3;
	profile_move_allocation(profile, 0);
	profile_move_allocation(profile, 2);
	heap_lives_init(&lives, profile);
	for (uint32_t row = 0; row < 4; row++) {
		life = heap_life_of(&lives, row);
		assert_int_equal(life.born_ns, row == 1 ? 2000 : 1000);
		assert_int_equal(life.died_ns, row == 1 ? 9000 : 20000);
		assert_int_equal(heap_life_ns(&life), row == 1 ? 7000 : 19000);
		assert_true(life.is_whole);
	}
	heap_lives_release(&lives);
	profile->heap.allocations[3].freed_ns = 0;
	heap_lives_init(&lives, profile);
	life = heap_life_of(&lives, 0);
	assert_int_equal(life.died_ns, 0);
	assert_int_equal(heap_life_ns(&life), 0);
	heap_lives_release(&lives);
	profile_free(profile);
}

TEST(heap_lives, are_not_whole_where_a_part_was_not_recorded)
{
	struct profile *profile = profile_of_two_threads();
	struct heap_lives lives;

	add(profile, 1000, 4000, 10, 0);
	add(profile, 4001, 6000, 20, 0);
	add(profile, 7000, 8000, 20, 0);
	profile->heap.allocations[0].former = FORMER_UNKNOWN;
	profile->heap.allocations[1].former = 1;
	profile_move_allocation(profile, 0);
	profile_move_allocation(profile, 2);
	heap_lives_init(&lives, profile);
	for (uint32_t row = 0; row < 3; row++)
		assert_false(heap_life_of(&lives, row).is_whole);
	assert_int_equal(heap_life_of(&lives, 1).born_ns, 1000);
	heap_lives_release(&lives);
	profile_free(profile);
}

TEST(heap_estimate, rows_add_up_to_what_is_known_exactly)
{
	struct profile *profile = profile_of_two_threads();
	struct profile_heap_moment moment = {
		.time_ns = 10240, .allocated_bytes = 300000, .nr_allocations = 2500};
	struct heap_estimate estimate;
	struct heap_weight weight;

	add(profile, 1024, 0, 100, 65536);
	add(profile, 2048, 0, 100, 65536);
	add(profile, 20480, 0, 100, 65536); /* later than what is known exactly */
	profile_add_heap_moment(profile, &moment);
	heap_estimate_init(&estimate, profile);
	weight = heap_estimate_weight(&estimate, &profile->heap.allocations[0]);
	assert_float_equal(weight.bytes, 150000, 0.1);
	assert_float_equal(weight.blocks, 1250, 0.001);
	assert_float_equal(sqrt(weight.square_bytes), 150000, 150);
	assert_false(weight.exact);
	profile->heap.allocations[0].kind = ALLOCATION_MAP;
	weight = heap_estimate_weight(&estimate, &profile->heap.allocations[0]);
	assert_float_equal(weight.bytes, 65586, 0.1);
	heap_estimate_release(&estimate);
	profile_free(profile);
}

/* Scaled as the one before, the later one would be 2^121 bytes. */
TEST(heap_estimate, rows_after_the_last_moment_are_not_scaled)
{
	struct profile *profile = profile_of_two_threads();
	struct profile_heap_moment moment = {
		.time_ns = 10240, .allocated_bytes = UINT64_C(1) << 61, .nr_allocations = 1 << 20};
	struct heap_estimate estimate;
	struct heap_weight weight;

	add(profile, 1024, 0, 1, 1 << 20);
	add(profile, 20480, 0, UINT64_C(1) << 60, 0);
	profile_add_heap_moment(profile, &moment);
	heap_estimate_init(&estimate, profile);
	weight = heap_estimate_weight(&estimate, &profile->heap.allocations[0]);
	assert_float_equal(weight.bytes, 0x1p61, 0x1p20);
	assert_float_equal(weight.blocks, 1048576, 0.001);
	weight = heap_estimate_weight(&estimate, &profile->heap.allocations[1]);
	assert_float_equal(weight.bytes, 0x1p60, 0);
	assert_float_equal(weight.blocks, 1, 0);
	heap_estimate_release(&estimate);
	profile_free(profile);
}

TEST(heap_estimate, what_was_recorded_whole_is_exact)
{
	struct profile *profile = profile_of_two_threads();
	struct profile_heap_moment moment = {.time_ns = 10240, .allocated_bytes = 300};
	struct heap_estimate estimate;
	struct heap_weight weight;

	add(profile, 1024, 0, 100, 0);
	add(profile, 2048, 0, 200, 0);
	moment.nr_allocations = 2;
	profile_add_heap_moment(profile, &moment);
	heap_estimate_init(&estimate, profile);
	weight = heap_estimate_weight(&estimate, &profile->heap.allocations[1]);
	assert_true(weight.exact);
	assert_float_equal(weight.bytes, 200, 0);
	assert_float_equal(weight.square_bytes, 0, 0);
	heap_estimate_release(&estimate);
	profile->heap.moments[0].allocated_bytes = 450; /* one was dropped */
	profile->heap.moments[0].nr_allocations = 3;
	heap_estimate_init(&estimate, profile);
	weight = heap_estimate_weight(&estimate, &profile->heap.allocations[1]);
	assert_false(weight.exact);
	assert_float_equal(weight.bytes, 200, 0);
	assert_float_equal(estimate.lost_bytes, 150, 0);
	assert_float_equal(estimate.lost_blocks, 1, 0);
	heap_estimate_release(&estimate);
	profile_free(profile);
}

/* A child counts in the memory that it has of its parent; a program that it executes does not. */
TEST(heap_estimate, forked_processes_are_scaled_and_executed_programs_not)
{
	struct profile *profile = profile_of_two_threads();
	struct profile_process forked = {.pid = 12, .parent = 0};
	struct profile_process executed = {.pid = 12, .parent = 1};
	struct profile_process again = {.pid = 13, .parent = 2};
	struct profile_heap_moment moment = {
		.time_ns = 10240, .allocated_bytes = 600, .nr_allocations = 4};
	struct heap_estimate estimate;
	struct heap_survey survey;

	profile_add_process(profile, &forked);
	profile_add_process(profile, &executed);
	profile_add_process(profile, &again);
	for (uint32_t process = 0; process < 4; process++) {
		struct profile_thread thread = {.process = process};
		struct profile_allocation row = block(100, process < 2 ? 64 : 0);

		row.thread = profile_add_thread(profile, &thread);
		profile_add_allocation(profile, &row);
	}
	profile_add_heap_moment(profile, &moment);
	heap_estimate_init(&estimate, profile);
	for (uint32_t process = 0; process < 4; process++) {
		struct heap_weight weight =
			heap_estimate_weight(&estimate, &profile->heap.allocations[process]);
		bool is_shared = process < 2;

		assert_int_equal(estimate.owners[process], is_shared ? 0 : PROCESS_NONE);
		assert_float_equal(weight.bytes, (is_shared ? 300 : 100), 0.001);
		assert_float_equal(weight.blocks, (is_shared ? 2 : 1), 0.001);
		assert_int_equal(weight.exact, !is_shared);
	}
	heap_estimate_release(&estimate);
	heap_survey(&survey, profile);
	assert_false(survey.allocated_is_exact);
	assert_float_equal(survey.allocated.bytes, 800, 0.001);
	profile_free(profile);
}

/*
 *	us   0    1    2    3    4    5
 *	     10---10---10   .    .    .
 *	     .    30---30---30   .    .
 *	     .    .    5    .    .    .     freed at once
 *	     .    .    .    20---20---20
 */
TEST(heap_estimate, peak_and_what_is_alive)
{
	struct profile *profile = profile_of_two_threads();
	struct profile_allocation *rows;
	struct heap_estimate estimate;
	double bytes;

	add(profile, 0, 2 * 1024, 10, 0);
	add(profile, 1 * 1024, 3 * 1024, 30, 0);
	add(profile, 2 * 1024, 2 * 1024, 5, 0);
	add(profile, 3 * 1024, 0, 20, 0);
	rows = profile->heap.allocations;
	heap_estimate_init(&estimate, profile);
	assert_int_equal(heap_peak_ns(&estimate, NULL, &bytes), 1024);
	assert_float_equal(bytes, 40, 0);
	assert_true(heap_is_alive(profile, &rows[0], 2047, 0));
	assert_false(heap_is_alive(profile, &rows[0], 2048, 0));
	assert_false(heap_is_alive(profile, &rows[2], 2048, 0));
	assert_false(heap_is_alive(profile, &rows[3], 3071, 0));
	assert_true(heap_is_alive(profile, &rows[3], 3072, 0));
	assert_int_equal(heap_end_ns(profile, NULL), UINT64_MAX);
	assert_true(heap_is_alive(profile, &rows[3], HEAP_AT_END, UINT64_MAX));
	profile->processes[0].end_ns = 2000;
	assert_int_equal(heap_end_ns(profile, NULL), 2000);
	assert_true(heap_is_alive(profile, &rows[3], HEAP_AT_END, 2000));
	assert_false(heap_is_alive(profile, &rows[3], HEAP_AT_END, 2001));
	assert_false(heap_is_alive(profile, &rows[0], 2000, 0));
	heap_estimate_release(&estimate);
	profile_free(profile);
}

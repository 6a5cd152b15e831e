// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocks that were freed long ago are forgotten, and those that are alive are not. */
#include <stdlib.h>

#include "base/clock.h"
#include "profile/heap_forget.h"
#include "profile/heap_gather.h"
#include "profile/live_maps.h"
#include "profile/profile.h"
#include "tests/unit/unit.h"

#define MS  NS_PER_MS
#define ALL SIZE_MAX

struct fixture {
	struct profile *profile;
	struct heap_gather *gather;
};

/* Two processes with a thread each. */
static void begin(struct fixture *fixture)
{
	fixture->profile = profile_new();
	for (uint32_t i = 0; i < 2; i++) {
		profile_add_process(fixture->profile,
				    &(struct profile_process){.parent = PROCESS_NONE});
		profile_add_thread(fixture->profile, &(struct profile_thread){.process = i});
	}
	fixture->gather = heap_gather_new(fixture->profile, HEAP_ROWS_EACH);
}

static void end(struct fixture *fixture)
{
	heap_gather_release(fixture->gather);
	profile_free(fixture->profile);
}

static void add_to(struct fixture *fixture, uint32_t process, uint64_t address, uint64_t ms,
		   uint64_t old_address)
{
	heap_gather_add(fixture->gather, &(struct heap_block){.address = address,
							      .size_bytes = address,
							      .mean_bytes = 1000,
							      .time_ns = ms * MS,
							      .process = process,
							      .thread = {process},
							      .replaces = old_address != 0,
							      .old_address = old_address});
}

static void add(struct fixture *fixture, uint64_t address, uint64_t ms)
{
	add_to(fixture, 0, address, ms, 0);
}

static struct heap_freed freed_at(uint64_t address, uint64_t ms)
{
	return (struct heap_freed){.address = address, .time_ns = ms * MS, .thread = {0}};
}

static void drop(struct fixture *fixture, uint64_t address, uint64_t ms)
{
	struct heap_freed freed = freed_at(address, ms);

	heap_gather_free(fixture->gather, &freed);
}

static void forget(struct fixture *fixture, uint64_t before_ms, uint64_t now_ms, size_t max_rows)
{
	free(heap_gather_forget(fixture->gather, before_ms * MS, now_ms * MS, max_rows));
}

static const struct profile_allocation *row_at(const struct fixture *fixture, size_t index)
{
	assert_in_range(index, 0, fixture->profile->heap.nr_allocations - 1);
	return &fixture->profile->heap.allocations[index];
}

TEST(heap_forget, what_was_freed_before_goes_and_the_rest_keeps_its_place)
{
	struct fixture fixture;

	begin(&fixture);
	for (uint64_t i = 1; i <= 5; i++)
		add(&fixture, i * 16, i);
	drop(&fixture, 16, 10);
	drop(&fixture, 48, 20);
	forget(&fixture, 15, 30, ALL);
	assert_int_equal(fixture.profile->heap.nr_allocations, 4);
	assert_int_equal(fixture.profile->heap.forgotten_ns, 15 * MS);
	assert_int_equal(row_at(&fixture, 0)->size_bytes, 32);
	assert_int_equal(row_at(&fixture, 1)->freed_ns, 20 * MS);
	/* Frees find the rows that blocks have now; that of a former block is unknown. */
	drop(&fixture, 80, 31);
	drop(&fixture, 16, 32);
	drop(&fixture, 32, 33);
	assert_int_equal(row_at(&fixture, 3)->freed_ns, 31 * MS);
	assert_int_equal(row_at(&fixture, 0)->freed_ns, 33 * MS);
	assert_int_equal(row_at(&fixture, 2)->freed_ns, 0);
	assert_int_equal(profile_counter(fixture.profile, "mem_forgotten"), 0);
	end(&fixture);
}

TEST(heap_forget, a_block_that_realloc_moved_is_followed_as_far_as_it_is_known)
{
	struct heap_freed freed = freed_at(16, 2);
	struct fixture fixture;

	begin(&fixture);
	add(&fixture, 16, 1);
	heap_gather_free_to_move(fixture.gather, &freed);
	add_to(&fixture, 0, 32, 3, 16);
	assert_int_equal(row_at(&fixture, 1)->former, 1);
	freed = freed_at(32, 10);
	heap_gather_free_to_move(fixture.gather, &freed);
	forget(&fixture, 5, 12, ALL);
	add_to(&fixture, 0, 48, 13, 32);
	assert_int_equal(fixture.profile->heap.nr_allocations, 2);
	assert_int_equal(row_at(&fixture, 0)->former, FORMER_UNKNOWN);
	assert_true(row_at(&fixture, 0)->is_moved);
	assert_int_equal(row_at(&fixture, 1)->former, 1);
	end(&fixture);
}

TEST(heap_forget, mappings_are_known_by_their_new_numbers)
{
	struct live_maps maps = {0};
	struct live_maps_change change = {.by = freed_at(0, 5)};
	struct profile_allocation row = {.kind = ALLOCATION_MAP, .freed_by = THREAD_NONE};
	struct fixture fixture;
	uint32_t *numbers;

	begin(&fixture);
	for (uint64_t i = 1; i <= 3; i++) {
		uint32_t number;

		row.size_bytes = 4096;
		row.time_ns = i * MS;
		number = heap_gather_add_map(fixture.gather, &row);
		change.address = i << 20;
		change.nr_bytes = 4096;
		change.number = &number;
		live_maps_apply(&maps, fixture.gather, &change);
	}
	change.number = NULL;
	change.address = 1 << 20;
	live_maps_apply(&maps, fixture.gather, &change);
	numbers = heap_gather_forget(fixture.gather, 6 * MS, 10 * MS, ALL);
	assert_int_equal(numbers[0], UINT32_MAX);
	assert_int_equal(numbers[2], 1);
	live_maps_renumber(&maps, numbers);
	free(numbers);
	change.address = 3 << 20;
	change.by.time_ns = 11 * MS;
	live_maps_apply(&maps, fixture.gather, &change);
	assert_int_equal(fixture.profile->heap.nr_allocations, 2);
	assert_int_equal(row_at(&fixture, 0)->freed_ns, 0);
	assert_int_equal(row_at(&fixture, 1)->freed_ns, 11 * MS);
	/* One that was alive, but for which there was no room. */
	numbers = heap_gather_forget(fixture.gather, 6 * MS, 12 * MS, 0);
	live_maps_renumber(&maps, numbers);
	free(numbers);
	assert_int_equal(maps.nr, 0);
	assert_int_equal(fixture.profile->heap.nr_allocations, 0);
	assert_int_equal(profile_counter(fixture.profile, "mem_forgotten"), 1);
	row.time_ns = 13 * MS;
	assert_int_equal(heap_gather_add_map(fixture.gather, &row), 0);
	live_maps_release(&maps);
	end(&fixture);
}

TEST(heap_forget, blocks_of_a_process_that_has_ended_go_as_if_freed)
{
	struct fixture fixture;

	begin(&fixture);
	add_to(&fixture, 0, 16, 1, 0);
	add_to(&fixture, 1, 16, 2, 0);
	fixture.profile->processes[0].end_ns = 3 * MS;
	forget(&fixture, 3, 5, ALL);
	assert_int_equal(fixture.profile->heap.nr_allocations, 2);
	forget(&fixture, 4, 5, ALL);
	assert_int_equal(fixture.profile->heap.nr_allocations, 1);
	assert_int_equal(row_at(&fixture, 0)->thread.v, 1);
	assert_int_equal(profile_counter(fixture.profile, "mem_forgotten"), 0);
	end(&fixture);
}

/* First those that were freed, from the oldest on; a long time at once, as a count takes long. */
TEST(heap_forget, there_are_no_more_rows_than_there_may_be)
{
	const struct profile_heap *heap;
	struct fixture fixture;

	begin(&fixture);
	heap = &fixture.profile->heap;
	for (uint64_t i = 1; i <= 1000; i++)
		add(&fixture, i * 16, i * 10);
	for (uint64_t i = 1; i <= 1000; i++) {
		if (i % 10)
			drop(&fixture, i * 16, i * 10 + 5);
	}
	forget(&fixture, 0, 10010, 400);
	assert_in_range(heap->nr_allocations, 101, 400);
	assert_in_range(heap->forgotten_ns, 5 * NS_PER_SEC, 9 * NS_PER_SEC);
	for (size_t i = 0; i < heap->nr_allocations; i++)
		assert_true(!heap->allocations[i].freed_ns ||
			    heap->allocations[i].freed_ns >= heap->forgotten_ns);
	assert_int_equal(profile_counter(fixture.profile, "mem_forgotten"), 0);
	forget(&fixture, 0, 10010, 80);
	/* Those that live are the later ones; later frees of the others are unknown. */
	assert_int_equal(heap->nr_allocations, 60);
	assert_int_equal(row_at(&fixture, 0)->time_ns, 4100 * MS);
	assert_int_equal(profile_counter(fixture.profile, "mem_forgotten"), 40);
	drop(&fixture, 160, 10011);
	drop(&fixture, 16000, 10012);
	assert_int_equal(row_at(&fixture, 59)->freed_ns, 10012 * MS);
	assert_int_equal(row_at(&fixture, 0)->freed_ns, 0);
	end(&fixture);
}

TEST(heap_forget, moments_of_before_go)
{
	struct fixture fixture;

	begin(&fixture);
	for (uint64_t i = 0; i < 10; i++)
		profile_add_heap_moment(fixture.profile,
					&(struct profile_heap_moment){.time_ns = i * MS});
	forget(&fixture, 7, 9, ALL);
	assert_int_equal(fixture.profile->heap.nr_moments, 3);
	assert_int_equal(fixture.profile->heap.moments[0].time_ns, 7 * MS);
	end(&fixture);
}

static size_t last_row(const struct profile_heap *heap, uint64_t size_bytes)
{
	size_t i = heap->nr_allocations;

	while (i && heap->allocations[i - 1].size_bytes != size_bytes)
		i--;
	return i;
}

/* Each block has a size of its own: a recorder and one that forgets nothing have the same of it. */
TEST(heap_forget, all_that_is_left_is_as_if_nothing_had_been_forgotten)
{
	struct fixture whole, fixture;
	uint64_t state = 88172645463325252u;

	begin(&whole);
	begin(&fixture);
	for (uint64_t ms = 1; ms < 20000; ms++) {
		uint64_t address = 16 * (1 + (state >> 20) % 500);

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		drop(&whole, address, ms);
		drop(&fixture, address, ms);
		if (state % 3 == 0) {
			struct heap_block block = {.address = address,
						   .size_bytes = ms,
						   .mean_bytes = 1000,
						   .time_ns = ms * MS};

			heap_gather_add(whole.gather, &block);
			heap_gather_add(fixture.gather, &block);
		}
		if (state % 1024 == 5 && ms > 2000)
			forget(&fixture, (ms - 2000), ms, ALL);
	}
	forget(&fixture, 18000, 20000, ALL);
	for (size_t i = 0; i < whole.profile->heap.nr_allocations; i++) {
		const struct profile_allocation *row = row_at(&whole, i);
		size_t found = last_row(&fixture.profile->heap, row->size_bytes);
		bool is_left = !row->freed_ns || row->freed_ns >= 18000 * MS;

		assert_int_equal(found != 0, is_left);
		if (!is_left)
			continue;
		assert_int_equal(row_at(&fixture, found - 1)->freed_ns, row->freed_ns);
		assert_int_equal(row_at(&fixture, found - 1)->time_ns, row->time_ns);
	}
	assert_true(fixture.profile->heap.nr_allocations < 2000);
	end(&whole);
	end(&fixture);
}

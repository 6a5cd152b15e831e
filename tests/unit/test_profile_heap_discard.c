// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "profile/heap_discard.h"
#include "profile/heap_lives.h"
#include "profile/heap_survey.h"
#include "profile/profile.h"
#include "tests/unit/unit.h"

/* Three processes with a thread each. */
static struct profile *made_profile(void)
{
	struct profile *profile = profile_new();

	for (uint32_t i = 0; i < 3; i++) {
		struct profile_process process = {.pid = 10 + (pid_t)i, .parent = PROCESS_NONE};
		struct profile_thread thread = {.process = i, .tid = 10 + (pid_t)i};

		profile_add_process(profile, &process);
		profile_add_thread(profile, &thread);
	}
	return profile;
}

static uint32_t add_block(struct profile *profile, uint32_t process, uint64_t time_ns,
			  uint64_t size_bytes)
{
	return profile_add_allocation(profile,
				      &(const struct profile_allocation){.time_ns = time_ns,
									 .size_bytes = size_bytes,
									 .thread = {process},
									 .freed_by = THREAD_NONE});
}

static void add_moment(struct profile *profile, uint32_t process, uint64_t time_ns,
		       uint64_t allocated_bytes, uint64_t nr_allocations)
{
	profile_add_heap_moment(
		profile, &(const struct profile_heap_moment){.time_ns = time_ns,
							     .process = process,
							     .rss_anon_bytes = 4096 * (process + 1),
							     .allocated_bytes = allocated_bytes,
							     .nr_allocations = nr_allocations});
}

TEST(heap_discard, nothing_was_discarded)
{
	struct profile *profile = made_profile();

	add_block(profile, 0, 1024, 10);
	add_moment(profile, 0, 2000, 10, 1);
	heap_discard_apply(profile);
	assert_int_equal(profile->heap.nr_allocations, 1);
	assert_int_equal(profile->heap.nr_moments, 1);
	assert_int_equal(profile->heap.discard.time_ns, 0);
	profile_free(profile);
}

/* Of the second process nothing was known by then; the third had ended. */
TEST(heap_discard, what_comes_later_counts_from_then_on)
{
	struct profile *profile = made_profile();
	const struct profile_heap *heap = &profile->heap;
	struct heap_survey survey;
	uint32_t early, late;

	early = add_block(profile, 0, 1024, 100);
	add_block(profile, 0, 2048, 200);
	add_block(profile, 2, 3072, 4000);
	add_moment(profile, 0, 2500, 300, 2);
	add_moment(profile, 2, 3500, 4000, 1);
	add_moment(profile, 0, 4000, 300, 2);
	profile->processes[2].end_ns = 3600;
	heap_discard_note(profile, 4000);
	late = add_block(profile, 0, 5120, 7);
	add_block(profile, 1, 6144, 50);
	profile_free_allocation(profile, early, 7000, THREAD_NONE);
	profile_free_allocation(profile, late, 8000, THREAD_NONE);
	add_moment(profile, 1, 9000, 50, 1);
	add_moment(profile, 0, 9500, 307, 3);
	heap_discard_apply(profile);
	assert_int_equal(heap->nr_allocations, 2);
	assert_int_equal(heap->allocations[0].size_bytes, 7);
	assert_int_equal(heap->allocations[0].freed_ns, 8000);
	assert_int_equal(heap->nr_freed, 1);
	assert_int_equal(heap->freed[0], 0);
	assert_int_equal(heap->nr_moments, 3);
	assert_int_equal(heap->moments[0].process, 0);
	assert_int_equal(heap->moments[0].time_ns, 4000);
	assert_int_equal(heap->moments[0].rss_anon_bytes, 4096);
	assert_int_equal(heap->moments[0].allocated_bytes, 0);
	assert_int_equal(heap->moments[1].allocated_bytes, 50);
	assert_int_equal(heap->moments[2].allocated_bytes, 7);
	assert_int_equal(heap->moments[2].nr_allocations, 1);
	heap_survey(&survey, profile);
	assert_true(survey.allocated_is_exact);
	assert_int_equal((uint64_t)survey.allocated.bytes, 57);
	assert_true(survey.knows_before);
	assert_int_equal(survey.before_attach_bytes, 4096);
	profile_free(profile);
}

/* Of a block that realloc() has moved since, what it was then is not known any more. */
TEST(heap_discard, blocks_that_were_moved_meanwhile)
{
	struct profile *profile = made_profile();
	const struct profile_heap *heap = &profile->heap;
	struct profile_allocation row = {.thread = {0}, .freed_by = THREAD_NONE};
	struct heap_lives lives;

	add_block(profile, 0, 1024, 10);
	add_block(profile, 0, 1024, 20);
	heap_discard_note(profile, 1500);
	for (uint32_t i = 1; i < 3; i++) { /* 20 bytes become 1000, and 2000 */
		profile_free_allocation(profile, i, 1000 + i * 1024, THREAD_NONE);
		profile_move_allocation(profile, i);
		row.time_ns = 1024 + i * 1024;
		row.size_bytes = i * 1000;
		row.former = i + 1;
		profile_add_allocation(profile, &row);
	}
	heap_discard_apply(profile);
	assert_int_equal(heap->nr_allocations, 2);
	assert_int_equal(heap->allocations[0].size_bytes, 1000);
	assert_int_equal(heap->allocations[0].former, FORMER_UNKNOWN);
	assert_int_equal(heap->allocations[1].former, 1);
	heap_lives_init(&lives, profile);
	assert_int_equal(heap_life_of(&lives, 1).born_ns, 2048);
	assert_false(heap_life_of(&lives, 1).is_whole);
	heap_lives_release(&lives);
	profile_free(profile);
}

TEST(heap_discard, all_of_it)
{
	struct profile *profile = made_profile();

	profile_free_allocation(profile, add_block(profile, 0, 1024, 10), 2048, THREAD_NONE);
	heap_discard_note(profile, 0);
	heap_discard_apply(profile);
	heap_discard_apply(profile);
	assert_int_equal(profile->heap.nr_allocations, 0);
	assert_int_equal(profile->heap.nr_freed, 0);
	assert_int_not_equal(profile->heap.discard.time_ns, 0);
	assert_int_equal(add_block(profile, 0, 1024, 10), 0);
	profile_free(profile);
}

/* Numbers of a file that somebody made up: less than before, and later than what follows. */
TEST(heap_discard, numbers_that_make_no_sense)
{
	struct profile *profile = made_profile();
	const struct profile_heap *heap = &profile->heap;

	add_moment(profile, 0, 1000, 500, 5);
	profile->heap.discard = (struct heap_discard){.time_ns = 1000000, .nr_moments = 1};
	add_moment(profile, 0, 2000, 30, 3);
	heap_discard_apply(profile);
	assert_int_equal(heap->nr_moments, 2);
	assert_int_equal(heap->moments[0].time_ns, 2000);
	assert_int_equal(heap->moments[1].allocated_bytes, 0);
	assert_int_equal(heap->moments[1].nr_allocations, 0);
	profile_free(profile);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory of a part of a recording. */
#include "base/clock.h"
#include "profile/excerpt.h"
#include "profile/heap_survey.h"
#include "profile/profile.h"
#include "tests/unit/unit.h"

#define SECOND NS_PER_SEC

/* A process with one thread and some stacks of one frame each. */
static struct profile *recording(void)
{
	struct profile *profile = profile_new();

	profile_add_process(profile, &(struct profile_process){.pid = 70, .parent = PROCESS_NONE});
	profile_add_thread(profile, &(struct profile_thread){.tid = 70});
	for (uint64_t address = 1; address <= 4; address++)
		stack_trie_intern(profile->stacks, STACK_EMPTY,
				  profile_intern_frame(
					  profile, (struct code_address){MODULE_UNKNOWN, address}));
	return profile;
}

static uint32_t allocated(struct profile *profile, uint64_t ms, uint64_t size_bytes, uint32_t stack)
{
	return profile_add_allocation(profile,
				      &(struct profile_allocation){.time_ns = ms * NS_PER_MS,
								   .size_bytes = size_bytes,
								   .stack = {stack},
								   .freed_by = THREAD_NONE});
}

static void freed(struct profile *profile, uint32_t row, uint64_t ms)
{
	profile_free_allocation(profile, row, ms * NS_PER_MS, (struct thread_id){0});
}

static void moment(struct profile *profile, uint64_t ms, uint64_t bytes, uint64_t blocks)
{
	profile_add_heap_moment(profile, &(struct profile_heap_moment){.time_ns = ms * NS_PER_MS,
								       .rss_anon_bytes = 5,
								       .allocated_bytes = bytes,
								       .nr_allocations = blocks});
}

static struct profile *excerpt_of(const struct profile *profile, uint64_t from_ns, uint64_t to_ns)
{
	return profile_excerpt(profile, &(struct excerpt){.from_ns = from_ns, .to_ns = to_ns});
}

TEST(excerpt_heap, has_what_was_alive_in_its_time_and_knows_what_came_before)
{
	struct profile *profile = recording(), *excerpt;
	const struct profile_allocation *rows;
	struct heap_survey survey;

	allocated(profile, 1000, 100, 1);
	freed(profile, allocated(profile, 2000, 200, 2), 9000);
	freed(profile, allocated(profile, 3000, 300, 3), 10500);
	moment(profile, 9500, 600, 3);
	allocated(profile, 10200, 400, 1); /* before the first reading of totals */
	moment(profile, 10500, 1000, 4);
	freed(profile, allocated(profile, 11000, 500, 4), 11500);
	allocated(profile, 12000, 600, 3);
	moment(profile, 13000, 2100, 6);
	excerpt = excerpt_of(profile, 10 * SECOND, 13 * SECOND);
	rows = excerpt->heap.allocations;
	assert_int_equal(excerpt->heap.nr_allocations, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(rows[i].is_earlier, i < 3);
	assert_int_equal(rows[0].time_ns, 0);
	assert_int_equal(rows[1].freed_ns, SECOND / 2);
	assert_int_equal(rows[3].time_ns, SECOND);
	assert_int_equal(rows[3].freed_ns, 3 * SECOND / 2);
	/* Of stack 2 nothing is left. */
	assert_int_equal(stack_trie_nr(excerpt->stacks), 4);
	assert_int_equal(excerpt->heap.nr_moments, 2);
	assert_int_equal(excerpt->heap.moments[0].allocated_bytes, 0);
	assert_int_equal(excerpt->heap.moments[1].allocated_bytes, 1100);
	heap_survey(&survey, excerpt);
	assert_true(survey.allocated_is_exact);
	assert_true(survey.allocated.bytes == 1100 && survey.allocated.blocks == 2);
	assert_true(survey.live.bytes == 1100 && survey.live.blocks == 3);
	assert_true(survey.live.error_bytes == 0);
	assert_true(survey.earlier_bytes == 500);
	assert_int_equal(survey.nr_samples, 2);
	profile_free(excerpt);
	profile_free(profile);
}

TEST(excerpt_heap, of_a_process_that_began_in_its_time_nothing_is_earlier)
{
	struct profile *profile = recording(), *excerpt;

	profile->processes[0].start_ns = 5 * SECOND;
	allocated(profile, 5100, 100, 1);
	moment(profile, 6000, 100, 1);
	allocated(profile, 6100, 100, 1);
	moment(profile, 7000, 200, 2);
	excerpt = excerpt_of(profile, 4 * SECOND, 8 * SECOND);
	assert_false(excerpt->heap.allocations[0].is_earlier);
	assert_int_equal(excerpt->heap.moments[1].allocated_bytes, 200);
	profile_free(excerpt);
	profile_free(profile);
}

TEST(excerpt_heap, has_nothing_of_a_process_that_had_ended)
{
	struct profile *profile = recording(), *excerpt;

	allocated(profile, 1000, 100, 1);
	moment(profile, 2000, 100, 1);
	profile->processes[0].end_ns = 2 * SECOND;
	excerpt = excerpt_of(profile, 4 * SECOND, 8 * SECOND);
	assert_int_equal(excerpt->heap.nr_allocations, 0);
	assert_int_equal(excerpt->heap.nr_moments, 0);
	profile_free(excerpt);
	profile_free(profile);
}

TEST(excerpt_heap, follows_realloc_into_its_time)
{
	struct profile *profile = recording(), *excerpt;
	uint32_t row = allocated(profile, 1000, 100, 1);

	freed(profile, row, 2000);
	profile_move_allocation(profile, row);
	for (uint64_t ms = 2000; ms <= 6000; ms += 2000) {
		row = profile_add_allocation(profile,
					     &(struct profile_allocation){.time_ns = ms * NS_PER_MS,
									  .size_bytes = ms,
									  .former = row + 1,
									  .freed_by = THREAD_NONE});
		if (ms == 6000)
			break;
		freed(profile, row, ms + 2000);
		profile_move_allocation(profile, row);
	}
	excerpt = excerpt_of(profile, 3 * SECOND, 8 * SECOND);
	assert_int_equal(excerpt->heap.nr_allocations, 3);
	assert_int_equal(excerpt->heap.allocations[0].former, FORMER_UNKNOWN);
	assert_true(excerpt->heap.allocations[0].is_earlier);
	assert_int_equal(excerpt->heap.allocations[1].former, 1);
	assert_int_equal(excerpt->heap.allocations[2].former, 2);
	profile_free(excerpt);
	profile_free(profile);
}

TEST(excerpt_heap, says_for_how_long_freed_blocks_were_forgotten)
{
	struct profile *profile = recording(), *excerpt;

	moment(profile, 3000, 100, 1);
	allocated(profile, 3500, 100, 1);
	moment(profile, 6500, 200, 2);
	allocated(profile, 7000, 100, 1);
	profile->heap.forgotten_ns = 6 * SECOND;
	excerpt = excerpt_of(profile, 2 * SECOND, 8 * SECOND);
	assert_int_equal(profile_counter(excerpt, "memory_missing_ns"), 4 * SECOND);
	/* The last reading of totals would leave no time: without them it has the later ones. */
	assert_true(excerpt->heap.allocations[0].is_earlier);
	assert_false(excerpt->heap.allocations[1].is_earlier);
	assert_int_equal(excerpt->heap.nr_moments, 2);
	assert_int_equal(excerpt->heap.moments[1].allocated_bytes, 0);
	assert_int_equal(excerpt->heap.moments[1].rss_anon_bytes, 5);
	profile_free(excerpt);
	profile_free(profile);
}

/* Of times that follow each other none has a block of the one before. */
TEST(excerpt_heap, excerpts_that_follow_each_other_have_no_block_twice)
{
	struct profile *profile = recording();
	uint64_t sum = 0, made = 0, from_ms = 0, last_ns = 0;

	for (uint64_t ms = 1; ms <= 60000; ms += 7) {
		allocated(profile, ms, 1 + ms % 50, 1 + (uint32_t)(ms % 4));
		made += 1 + ms % 50;
		if (ms % 95 == 1)
			moment(profile, ms, made, ms / 7 + 1);
		if (ms % 11 == 1 && ms > from_ms + 4000) {
			struct profile *excerpt =
				excerpt_of(profile, from_ms * NS_PER_MS, ms * NS_PER_MS);

			for (size_t i = 0; i < excerpt->heap.nr_allocations; i++) {
				const struct profile_allocation *row =
					&excerpt->heap.allocations[i];

				if (row->is_earlier)
					continue;
				sum += row->size_bytes;
				assert_true(from_ms * NS_PER_MS + row->time_ns > last_ns);
			}
			last_ns = ms * NS_PER_MS;
			profile_free(excerpt);
			from_ms = ms;
		}
	}
	assert_true(sum > made / 2);
	profile_free(profile);
}

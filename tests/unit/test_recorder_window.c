// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples that are taken in parts, one after the other. */
#include "base/clock.h"
#include "profile/profile.h"
#include "recorder/history.h"
#include "recorder/window.h"
#include "tests/unit/unit.h"

#define SECOND NS_PER_SEC

static struct profile *recording(void)
{
	struct profile *profile = profile_new();
	struct profile_process process = {.pid = 70, .parent = PROCESS_NONE, .start_ns = 1};
	struct profile_thread thread = {.tid = 70, .start_ns = 1};

	profile_add_process(profile, &process);
	profile_add_thread(profile, &thread);
	return profile;
}

static void sampled(struct window *window, struct profile *profile, uint32_t thread,
		    const struct sample *like)
{
	struct sample sample = *like;

	sample.thread.v = thread;
	sample.syscall_nr = -1;
	profile_add_sample(profile, &sample);
	window_look(window, profile);
	profile_drop_samples(profile);
}

static struct profile *take(struct window *window, const struct profile *profile, uint64_t from_s,
			    uint64_t to_s)
{
	const struct history_span span = {from_s * SECOND, to_s * SECOND, (1000 + to_s) * SECOND};

	return window_take(window, profile, &span);
}

/* A sample covers time before its window, and may come after the end of its own. */
TEST(recorder_window, each_sample_is_taken_once_and_whole)
{
	struct window *window = window_new(UINT64_MAX, SIZE_MAX);
	struct profile *profile = recording();
	struct sample sleep = {.time_ns = 9 * SECOND, .blocked_ns = 9 * SECOND, .nr = 1};
	struct sample run = {.time_ns = 12 * SECOND, .cpu_ns = 4 * SECOND, .nr = 1};
	struct profile *first, *second, *third;

	sampled(window, profile, 0, &run);
	first = take(window, profile, 0, 12);
	sampled(window, profile, 0, &sleep);
	second = take(window, profile, 12, 20);
	third = take(window, profile, 20, 24);
	assert_int_equal(first->nr_samples, 1);
	assert_int_equal(first->samples[0].cpu_ns, 4 * SECOND);
	assert_int_equal(first->meta.duration_ns, 12 * SECOND);
	assert_int_equal(second->nr_samples, 1);
	assert_int_equal(second->samples[0].time_ns, 0);
	assert_int_equal(second->samples[0].blocked_ns, 9 * SECOND);
	assert_int_equal(second->meta.start_realtime_ns, 1012 * SECOND);
	assert_int_equal(third->nr_samples, 0);
	profile_free(first);
	profile_free(second);
	profile_free(third);
	profile_free(profile);
	window_free(window);
}

/* Their row covers the recording from its beginning. */
TEST(recorder_window, processes_that_no_sample_found_are_taken_too)
{
	struct window *window = window_new(UINT64_MAX, SIZE_MAX);
	struct profile *profile = recording();
	struct profile_process process = {.parent = PROCESS_NONE, .start_ns = 1, .nr_unseen = 5};
	struct profile_thread thread = {.start_ns = 1};
	struct sample rest = {
		.time_ns = 30 * SECOND, .cpu_ns = SECOND, .kind = SAMPLE_UNATTRIBUTED};
	struct profile *taken;

	thread.process = profile_add_process(profile, &process).v;
	sampled(window, profile, profile_add_thread(profile, &thread).v, &rest);
	taken = take(window, profile, 20, 30);
	assert_int_equal(profile_total(taken, METRIC_CPU), SECOND);
	profile_free(taken);
	profile_free(profile);
	window_free(window);
}

TEST(recorder_window, it_has_no_more_bytes_than_it_may_and_counts_the_rest)
{
	struct window *window = window_new(10 * sizeof(struct sample), 4);
	struct profile *profile = recording();
	struct sample run = {.cpu_ns = SECOND, .nr = 1};
	struct profile *taken;

	for (int i = 1; i <= 5; i++)
		sampled(window, profile, 0, &run);
	assert_false(window_is_filling(window));
	for (int i = 6; i <= 13; i++)
		sampled(window, profile, 0, &run);
	assert_true(window_is_filling(window));
	assert_int_equal(window_nr_left_out(window), 3);
	taken = take(window, profile, 0, 1);
	assert_int_equal(taken->nr_samples, 10);
	assert_false(window_is_filling(window));
	profile_free(taken);
	profile_free(profile);
	window_free(window);
}

static void allocated(struct profile *profile, uint64_t time_ns, uint64_t size_bytes)
{
	profile_add_allocation(profile, &(struct profile_allocation){.time_ns = time_ns,
								     .size_bytes = size_bytes,
								     .freed_by = THREAD_NONE});
}

/* The sum of the sizes of all blocks of a profile, or of those alone that are no earlier ones. */
static uint64_t nr_bytes(const struct profile *profile, bool has_earlier)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->heap.nr_allocations; i++) {
		const struct profile_allocation *row = &profile->heap.allocations[i];

		sum += has_earlier || !row->is_earlier ? row->size_bytes : 0;
	}
	return sum;
}

/* Several have the very time at which they are taken. */
TEST(recorder_window, each_block_is_new_once_and_there_while_it_is_alive)
{
	struct window *window = window_new(UINT64_MAX, 4);
	struct profile *profile = recording(), *taken;

	taken = take(window, profile, 0, 1);
	assert_int_equal(taken->heap.nr_allocations, 0);
	profile_free(taken);
	allocated(profile, 2 * SECOND, 1);
	allocated(profile, 3 * SECOND, 10);
	allocated(profile, 3 * SECOND, 100);
	window_look(window, profile);
	assert_true(window_is_filling(window));
	taken = take(window, profile, 1, 3);
	assert_false(window_is_filling(window));
	assert_int_equal(nr_bytes(taken, false), 111);
	profile_free(taken);
	allocated(profile, 3 * SECOND, 1000);
	allocated(profile, 4 * SECOND, 10000);
	window_look(window, profile);
	assert_false(window_is_filling(window));
	profile_free_allocation(profile, 1, 2 * SECOND, (struct thread_id){0});
	profile_free_allocation(profile, 4, 4 * SECOND, (struct thread_id){0});
	taken = take(window, profile, 3, 5);
	assert_int_equal(nr_bytes(taken, false), 11000);
	assert_int_equal(nr_bytes(taken, true), 11101);
	assert_int_equal(taken->heap.nr_moments, 0);
	profile_free(taken);
	taken = take(window, profile, 5, 6);
	assert_int_equal(nr_bytes(taken, false), 0);
	assert_int_equal(nr_bytes(taken, true), 1101);
	profile_free(taken);
	profile_free(profile);
	window_free(window);
}

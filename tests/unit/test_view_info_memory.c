// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "base/json.h"
#include "base/sink.h"
#include "profile/heap_survey.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "view/info_memory.h"

#define MIB (UINT64_C(1) << 20)

/* Of blocks of 64 KiB 200 were met, and half of those freed after 5 ms; 20 MiB are mapped. */
static struct profile *made_up(void)
{
	struct made made = made_begin();
	struct profile_heap_moment moment = {.rss_anon_bytes = 30 * MIB};

	profile_add_heap_moment(made.profile, &moment);
	for (int i = 0; i < 200; i++) {
		struct profile_allocation *row =
			made_block(&made, "main;work", 1 << 16, 1 << 19, 1000);

		if (i % 2)
			row->freed_ns = row->time_ns + 5000 * SAMPLE_TIME_GRAIN_NS;
	}
	made_block(&made, "main;map", 20 * MIB, 0, 1000)->kind = ALLOCATION_MAP;
	moment = (struct profile_heap_moment){.time_ns = made.time_ns,
					      .rss_anon_bytes = 150 * MIB,
					      .rss_file_bytes = 3 * MIB,
					      .swap_bytes = 4096,
					      .heap_mapped_bytes = 120 * MIB,
					      .allocated_bytes = 100 * MIB,
					      .nr_allocations = 1600,
					      .nr_dropped = 2};
	profile_add_heap_moment(made.profile, &moment);
	return made_end(&made);
}

static void expect_text(struct profile *profile, const char *expected)
{
	const struct view view = {.columns = 80};
	struct sink sink = SINK_MEMORY;

	info_print_memory(profile, &view, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	profile_free(profile);
}

TEST(info_memory, divides_what_is_resident)
{
	expect_text(
		made_up(),
		"\n"
		"Memory\n"
		"allocated   120 MiB in 1,601 blocks, exact; 201 blocks recorded, one for each\n"
		"            512 KiB; 2 more were left out: others represent them\n"
		"peak        71.0 MiB ± 6.48 MiB in 817 blocks, at 206 ms\n"
		"at the end  70.0 MiB ± 6.48 MiB in 801 blocks\n"
		"resident    153 MiB: 50.0 MiB ± 6.48 MiB allocated and alive, 70.0 MiB ± 6.48\n"
		"            MiB overhead and caches of allocators, 30.0 MiB stacks, memory made\n"
		"            writable by mprotect and other mappings, 3.00 MiB of files, and 4.00\n"
		"            KiB swapped out\n");
}

TEST(info_memory, says_that_a_peak_of_coarse_times_may_be_too_small)
{
	struct profile *profile = made_up();
	const struct view view = {.columns = 80};
	struct sink sink = SINK_MEMORY;

	profile_set_counter(profile, HEAP_COARSE_TIMES, 1);
	info_print_memory(profile, &view, &sink);
	assert_non_null(strstr(
		buf_str(&sink.pending),
		"peak        71.0 MiB ± 6.48 MiB in 817 blocks, at 206 ms, or more: the clock of\n"
		"            this processor is not even, and times are those at which profc\n"
		"            looked\n"));
	sink_release(&sink);
	profile_free(profile);
}

TEST(info_memory, says_what_is_from_before_the_time_of_a_part_of_a_recording)
{
	struct profile *profile = made_up();
	const struct view view = {.columns = 80};
	struct sink sink = SINK_MEMORY;

	profile->heap.allocations[200].is_earlier = true; /* 20 MiB that are mapped */
	info_print_memory(profile, &view, &sink);
	assert_non_null(strstr(
		buf_str(&sink.pending),
		"allocated   100 MiB in 1,600 blocks, exact; 200 blocks recorded, one for each\n"));
	assert_non_null(strstr(
		buf_str(&sink.pending),
		"at the end  70.0 MiB ± 6.48 MiB in 801 blocks; 20.0 MiB of it were allocated\n"
		"            before the time of this profile\n"));
	sink_release(&sink);
	profile_free(profile);
}

TEST(info_memory, says_what_was_before_it_attached)
{
	struct profile *profile = made_up();

	profile->meta.attached = true;
	expect_text(
		profile,
		"\n"
		"Memory\n"
		"allocated   120 MiB in 1,601 blocks, exact; 201 blocks recorded, one for each\n"
		"            512 KiB; 2 more were left out: others represent them\n"
		"peak        71.0 MiB ± 6.48 MiB in 817 blocks, at 206 ms\n"
		"at the end  70.0 MiB ± 6.48 MiB in 801 blocks\n"
		"resident    153 MiB: 50.0 MiB ± 6.48 MiB allocated and alive, 70.0 MiB ± 6.48\n"
		"            MiB from before the recording, overhead and caches of allocators,\n"
		"            30.0 MiB stacks, memory made writable by mprotect and other\n"
		"            mappings, 3.00 MiB of files, and 4.00 KiB swapped out\n"
		"before      up to 30.0 MiB of memory was there when the recording began: its\n"
		"            allocations were not recorded\n");
}

static void expect_line(struct profile *profile, const char *expected)
{
	struct buf text = {0};

	assert_true(info_append_memory(&text, profile));
	assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
	profile_free(profile);
}

TEST(info_memory, one_line_at_the_end_of_a_recording)
{
	const struct profile_heap_moment moment = {.rss_anon_bytes = MIB};
	struct made made = made_begin();
	struct buf text = {0};

	expect_line(made_up(),
		    "recorded 201 of 1,601 blocks, 120 MiB; 70.0 MiB \xc2\xb1 6.48 MiB in "
		    "801 blocks were not freed; 2 more were left out, as they came too fast");
	assert_false(info_append_memory(&text, made.profile));
	assert_string_equal(buf_str(&text), "");
	buf_release(&text);
	profile_add_heap_moment(made.profile, &moment);
	expect_line(made_end(&made), "nothing was allocated");
}

TEST(info_memory, of_few_blocks_none_may_be_recorded)
{
	const struct profile_heap_moment moment = {.allocated_bytes = 20 * 1024,
						   .nr_allocations = 138};
	struct made made = made_begin();

	profile_add_heap_moment(made.profile, &moment);
	expect_line(made_end(&made),
		    "recorded 0 of 138 blocks, 20.0 KiB: a smaller --mem=RATE records more");
}

TEST(info_memory, nothing_where_it_was_not_recorded)
{
	struct made made = made_begin();

	expect_text(made_end(&made), "");
}

/* One that ended early is no part of what is resident, or alive, at the end. */
TEST(info_memory, of_processes_that_last)
{
	struct profile *profile = made_up();
	struct profile_process other = {.pid = 7, .parent = 0, .end_ns = 300000000};
	struct profile_heap_moment moment = {.time_ns = 250000000, .rss_anon_bytes = 77 * MIB};

	moment.process = profile_add_process(profile, &other).v;
	profile_add_heap_moment(profile, &moment);
	profile->processes[0].end_ns = 400000000;
	expect_text(
		profile,
		"\n"
		"Memory\n"
		"allocated   120 MiB in 1,601 blocks, exact; 201 blocks recorded, one for each\n"
		"            512 KiB; 2 more were left out: others represent them\n"
		"peak        71.0 MiB ± 6.48 MiB in 817 blocks, at 206 ms\n"
		"at the end  70.0 MiB ± 6.48 MiB in 801 blocks\n"
		"resident    153 MiB: 50.0 MiB ± 6.48 MiB allocated and alive, 70.0 MiB ± 6.48\n"
		"            MiB overhead and caches of allocators, 30.0 MiB stacks, memory made\n"
		"            writable by mprotect and other mappings, 3.00 MiB of files, and 4.00\n"
		"            KiB swapped out\n"
		"begun late  1 program that was executed meanwhile: what was allocated in the\n"
		"            first moments of one, mostly less than 0.3 s, is not in all this\n");
}

/* Exact totals of one that was over before anyone looked at its pages. */
TEST(info_memory, says_that_pages_were_not_seen)
{
	const struct profile_heap_moment moment = {
		.time_ns = 20480, .allocated_bytes = 65536, .nr_allocations = 1};
	struct made made = made_begin();

	made_block(&made, "main", 65536, 0, 10);
	profile_add_heap_moment(made.profile, &moment);
	expect_text(made_end(&made),
		    "\n"
		    "Memory\n"
		    "allocated   64.0 KiB in 1 block, exact; all of them recorded\n"
		    "peak        64.0 KiB in 1 block, at 10.2 µs\n"
		    "at the end  64.0 KiB in 1 block\n"
		    "resident    not seen: it is looked at once a second\n");
}

TEST(info_memory, as_json)
{
	struct profile *profile = made_up();
	struct sink sink = SINK_MEMORY;
	struct json json;

	json_init(&json, &sink);
	json_object_begin(&json);
	info_write_memory(&json, profile);
	json_object_end(&json);
	json_finish(&json);
	assert_string_equal(
		buf_str(&sink.pending),
		"{\"heap\":{\"allocated_bytes\":125829120,\"allocated_blocks\":1601,\"allocated_"
		"exact\":true,\"live_bytes\":73400320,\"live_ci_bytes\":6796840,\"peak_bytes\":"
		"74448896,\"peak_ci_bytes\":6795480,\"peak_at_ns\":205824000,\"before_attach_"
		"bytes\":null,\"discarded_at_ns\":null,\"rss_bytes\":160432128,\"rss_anon_bytes\":"
		"157286400,\"rss_file_"
		"bytes\":3145728,\"rss_shmem_bytes\":0,\"swap_bytes\":4096,\"heap_mapped_bytes\":"
		"125829120,\"samples\":201,\"mean_bytes\":524288,\"dropped\":2,\"frees_dropped\":0,"
		"\"reachable\":null}}\n");
	sink_release(&sink);
	profile_free(profile);
}

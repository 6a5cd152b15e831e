// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"
#include "profile/profile.h"
#include "recorder/history.h"
#include "tests/unit/unit.h"

#define SECOND NS_PER_SEC

static char prog_path[] = "/bin/prog";

/* A process with two threads, the second of which has ended. */
static struct profile *recording(void)
{
	struct profile *profile = profile_new();
	struct profile_process process = {.pid = 70, .parent = PROCESS_NONE, .start_ns = 1};
	struct profile_thread thread = {.tid = 70, .start_ns = 1, .nr_switches = 9};
	struct module prog = {.kind = MODULE_KIND_FILE, .path = prog_path, .fd = -1};
	struct module_id module = module_table_intern(profile->modules, &prog);

	process.name = profile_intern(profile, "prog");
	process.split = (struct cpu_split){.user_ns = 5, .known = true};
	profile_add_process(profile, &process);
	thread.name = profile_intern(profile, "main");
	profile_add_thread(profile, &thread);
	thread.tid = 71;
	thread.end_ns = 4 * SECOND;
	profile_add_thread(profile, &thread);
	for (uint64_t address = 0; address < 4; address++) {
		struct frame_id frame =
			profile_intern_frame(profile, (struct code_address){module, address});

		stack_trie_intern(profile->stacks, (struct stack_id){(uint32_t)address}, frame);
	}
	return profile;
}

/* A sample of a thread in that stack, at its time; it goes to the history. */
static void sampled(struct history *history, struct profile *profile, uint32_t thread,
		    uint64_t time_ns, uint32_t stack)
{
	struct sample sample = {.time_ns = time_ns,
				.cpu_ns = SECOND / 10,
				.runq_ns = 1,
				.thread = {thread},
				.stack = {stack},
				.nr = 1,
				.syscall_nr = -1};

	profile_add_sample(profile, &sample);
	history_look(history, profile);
	profile_drop_samples(profile);
}

TEST(recorder_history, an_excerpt_has_the_time_that_was_asked_for)
{
	struct history *history = history_new(12 * SECOND, UINT64_MAX);
	struct profile *profile = recording();
	struct history_span span = {50 * SECOND, 62 * SECOND, 1000 * SECOND};
	struct profile *excerpt;

	for (uint64_t s = 1; s <= 60; s++)
		sampled(history, profile, s < 4, s * SECOND, (uint32_t)(s % 4));
	profile_add_mark(profile, 40 * SECOND, "earlier");
	profile_add_mark(profile, 60 * SECOND, "trigger:exit");
	excerpt = history_excerpt(history, profile, &span);
	assert_int_equal(excerpt->nr_samples, 11);
	assert_int_equal(excerpt->samples[0].time_ns, 0);
	assert_int_equal(excerpt->samples[10].time_ns, 10 * SECOND);
	assert_int_equal(excerpt->meta.duration_ns, 12 * SECOND);
	assert_int_equal(excerpt->meta.start_realtime_ns, 988 * SECOND);
	assert_int_equal(excerpt->nr_marks, 1);
	assert_int_equal(excerpt->marks[0].time_ns, 10 * SECOND);
	/* The thread that ended before is not in it; the other began before it. */
	assert_int_equal(excerpt->nr_threads, 1);
	assert_int_equal(excerpt->threads[0].tid, 70);
	assert_int_equal(excerpt->threads[0].start_ns, 0);
	assert_int_equal(excerpt->threads[0].nr_switches, 0);
	assert_string_equal(profile_str(excerpt, excerpt->threads[0].name), "main");
	assert_string_equal(profile_str(excerpt, excerpt->processes[0].name), "prog");
	assert_false(excerpt->processes[0].split.known);
	assert_true(excerpt->meta.complete);
	profile_free(excerpt);
	profile_free(profile);
	history_free(history);
}

TEST(recorder_history, code_without_samples_in_the_time_is_left_out)
{
	struct history *history = history_new(12 * SECOND, UINT64_MAX);
	struct profile *profile = recording();
	struct history_span span = {5 * SECOND, 10 * SECOND, 1000 * SECOND};
	struct profile *excerpt;

	sampled(history, profile, 0, 1 * SECOND, 4);
	sampled(history, profile, 0, 6 * SECOND, 2);
	excerpt = history_excerpt(history, profile, &span);
	assert_int_equal(excerpt->nr_samples, 1);
	assert_int_equal(excerpt->nr_frames, 2);
	assert_int_equal(stack_trie_nr(excerpt->stacks), 3);
	assert_int_equal(stack_trie_depth(excerpt->stacks, excerpt->samples[0].stack), 2);
	assert_int_equal(module_table_nr(excerpt->modules), 2);
	profile_free(excerpt);
	profile_free(profile);
	history_free(history);
}

TEST(recorder_history, a_sleep_that_began_before_is_cut_and_counts_as_seen_once)
{
	struct history *history = history_new(12 * SECOND, UINT64_MAX);
	struct profile *profile = recording();
	struct history_span span = {5 * SECOND, 10 * SECOND, 1000 * SECOND};
	struct sample sleep = {.blocked_ns = SECOND + 1, .kind = SAMPLE_BLOCKED, .syscall_nr = -1};
	struct profile *excerpt;

	for (uint64_t s = 1; s < 10; s++) {
		sleep.time_ns = s * SECOND;
		sleep.nr = s == 1;
		profile_add_sample(profile, &sleep);
	}
	history_look(history, profile);
	span.from_ns += SECOND / 2;
	excerpt = history_excerpt(history, profile, &span);
	assert_int_equal(excerpt->nr_samples, 4);
	assert_int_equal(excerpt->samples[0].blocked_ns, SECOND / 2);
	assert_int_equal(excerpt->samples[1].blocked_ns, SECOND + 1);
	assert_int_equal(excerpt->samples[0].nr, 1);
	assert_int_equal(excerpt->samples[1].nr, 0);
	profile_free(excerpt);
	profile_free(profile);
	history_free(history);
}

TEST(recorder_history, the_oldest_generation_goes)
{
	struct history *history = history_new(12 * SECOND, UINT64_MAX);
	struct profile *profile = recording();
	struct history_span all = {0, 1000 * SECOND, 2000 * SECOND};
	struct profile *excerpt;

	for (uint64_t s = 1; s < 1000; s++)
		sampled(history, profile, 0, s * SECOND, 1);
	excerpt = history_excerpt(history, profile, &all);
	assert_in_range(excerpt->nr_samples, 12, 15);
	assert_in_range(excerpt->meta.duration_ns, 12 * SECOND, 15 * SECOND);
	profile_free(excerpt);
	profile_free(profile);
	history_free(history);
}

/* The time is shorter then, and begins where samples do. */
TEST(recorder_history, it_never_has_more_bytes_than_it_may)
{
	struct history *history = history_new(1000 * SECOND, 100 * sizeof(struct sample));
	struct profile *profile = recording();
	struct history_span all = {0, 900 * SECOND, 2000 * SECOND};
	struct profile *excerpt;

	for (uint64_t s = 1; s < 900; s++)
		sampled(history, profile, 0, s * SECOND, 1);
	excerpt = history_excerpt(history, profile, &all);
	assert_in_range(excerpt->nr_samples, 80, 100);
	assert_in_range(excerpt->meta.duration_ns, 80 * SECOND, 102 * SECOND);
	profile_free(excerpt);
	profile_free(profile);
	history_free(history);
}

/* The collector goes on between the reading of the clock and the cut. */
TEST(recorder_history, an_excerpt_that_ends_before_all_samples_has_no_negative_time)
{
	struct history *history = history_new(2 * SECOND, 1);
	struct profile *profile = recording();
	struct history_span span = {10 * SECOND, 12 * SECOND, 2000 * SECOND};
	struct profile *excerpt;

	for (uint64_t s = 1; s <= 15; s++)
		sampled(history, profile, 0, s * SECOND, 1);
	excerpt = history_excerpt(history, profile, &span);
	assert_int_equal(excerpt->meta.duration_ns, 0);
	assert_int_equal(excerpt->meta.start_realtime_ns, 2000 * SECOND);
	profile_free(excerpt);
	profile_free(profile);
	history_free(history);
}

TEST(recorder_history, it_sums_up_all_samples_and_knows_living_processes)
{
	struct history *history = history_new(2 * SECOND, UINT64_MAX);
	struct profile *profile = recording();
	struct profile_process ended = {.pid = 80, .parent = 0, .end_ns = SECOND};
	struct history_state state;

	profile_add_process(profile, &ended);
	for (uint64_t s = 1; s <= 100; s++)
		sampled(history, profile, 0, s * SECOND, 1);
	history_read(history, &state);
	assert_int_equal(state.time_ns, 100 * SECOND);
	assert_int_equal(state.cpu_ns, 10 * SECOND);
	assert_int_equal(state.runq_ns, 100);
	assert_int_equal(state.nr_pids, 1);
	assert_int_equal(state.pids[0], 70);
	history_state_release(&state);
	profile_free(profile);
	history_free(history);
}

/* It has no time before its beginning: such a time would be one of centuries. */
TEST(recorder_history, a_parent_that_had_ended_before_ends_where_the_excerpt_begins)
{
	struct history *history = history_new(2 * SECOND, UINT64_MAX);
	struct profile *profile = profile_new();
	struct profile_process process = {
		.pid = 70, .parent = PROCESS_NONE, .start_ns = 1, .end_ns = SECOND};
	struct history_span span = {10 * SECOND, 12 * SECOND, 2000 * SECOND};
	struct profile *excerpt;

	process.parent = profile_add_process(profile, &process).v;
	process.pid = 71;
	process.end_ns = 10 * SECOND;
	process.parent = profile_add_process(profile, &process).v;
	process.pid = 72;
	process.end_ns = 0;
	profile_add_process(profile, &process);
	excerpt = history_excerpt(history, profile, &span);
	assert_int_equal(excerpt->nr_processes, 3);
	for (size_t i = 0; i < 2; i++)
		assert_in_range(excerpt->processes[i].end_ns, 1, 1000);
	assert_int_equal(excerpt->processes[2].end_ns, 0);
	assert_int_equal(excerpt->processes[2].parent, 1);
	profile_free(excerpt);
	profile_free(profile);
	history_free(history);
}

TEST(recorder_history, without_samples_an_excerpt_has_the_living_processes)
{
	struct history *history = history_new(2 * SECOND, UINT64_MAX);
	struct profile *profile = recording();
	struct history_span span = {10 * SECOND, 12 * SECOND, 2000 * SECOND};
	struct profile *excerpt = history_excerpt(history, profile, &span);

	assert_int_equal(excerpt->nr_samples, 0);
	assert_int_equal(excerpt->nr_processes, 1);
	assert_int_equal(excerpt->meta.duration_ns, 2 * SECOND);
	profile_free(excerpt);
	profile_free(profile);
	history_free(history);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"
#include "profile/profile.h"
#include "recorder/history.h"
#include "recorder/kept_spans.h"
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

/* A process whose function `place` was called so often by then, since it began. */
static void counted(struct history *history, struct profile *profile, uint64_t time_ns,
		    uint64_t calls)
{
	struct profile_count *row = &profile->probes.counts[profile->probes.nr_counts - 1];

	row->calls = calls;
	row->to_ns = time_ns;
	history_look(history, profile);
}

static struct profile *counting(void)
{
	struct profile *profile = recording();

	profile_add_count(profile, &(struct profile_count){.where = {0},
							   .callee = COUNT_NO_CALLEE,
							   .flags = COUNT_FROM_START,
							   .from_ns = 1,
							   .to_ns = 1});
	return profile;
}

static uint64_t calls_of(struct history *history, const struct profile *profile, uint64_t from_ns,
			 uint64_t to_ns)
{
	struct history_span span = {from_ns, to_ns, 2000 * SECOND};
	struct profile *excerpt = history_excerpt(history, profile, &span);
	uint64_t calls = 0;

	for (size_t i = 0; i < excerpt->probes.nr_counts; i++)
		calls += excerpt->probes.counts[i].calls;
	profile_free(excerpt);
	return calls;
}

TEST(recorder_history, counts_are_those_of_the_time_of_an_excerpt)
{
	struct history *history = history_new(12 * SECOND, UINT64_MAX);
	struct profile *profile = counting();
	struct history_span span = {50 * SECOND + 1, 60 * SECOND, 1000 * SECOND};
	const struct profile_count *row;
	struct profile *excerpt;

	profile_add_refusal(profile, &(struct profile_refusal){.process = 0});
	for (uint64_t s = 1; s <= 60; s++)
		counted(history, profile, s * SECOND, s * s);
	excerpt = history_excerpt(history, profile, &span);
	assert_int_equal(excerpt->probes.nr_counts, 1);
	row = &excerpt->probes.counts[0];
	/* From the look after its beginning on. */
	assert_int_equal(row->calls, 60 * 60 - 51 * 51);
	assert_int_equal(row->from_ns, SECOND - 1);
	assert_int_equal(row->to_ns, 10 * SECOND - 1);
	assert_int_equal(row->flags & COUNT_FROM_START, 0);
	assert_int_equal(excerpt->frames[row->where.v].where.address, 0);
	assert_int_equal(excerpt->probes.nr_refusals, 1);
	profile_free(excerpt);
	profile_free(profile);
	history_free(history);
}

TEST(recorder_history, of_a_process_that_began_in_its_time_an_excerpt_has_all_calls)
{
	struct history *history = history_new(12 * SECOND, UINT64_MAX);
	struct profile *profile = counting();
	struct history_span span = {0, 10 * SECOND, 1000 * SECOND};
	struct profile *excerpt;

	for (uint64_t s = 1; s <= 10; s++)
		counted(history, profile, s * SECOND, 3 * s);
	excerpt = history_excerpt(history, profile, &span);
	assert_int_equal(excerpt->probes.counts[0].calls, 30);
	assert_int_equal(excerpt->probes.counts[0].from_ns, 1);
	assert_int_equal(excerpt->probes.counts[0].flags, COUNT_FROM_START);
	profile_free(excerpt);
	profile_free(profile);
	history_free(history);
}

/* A cut is a look at the counts, some time after the end of the excerpt. */
TEST(recorder_history, excerpts_that_follow_each_other_count_each_call_once)
{
	struct history *history = history_new(12 * SECOND, UINT64_MAX);
	struct profile *profile = counting();
	uint64_t sum = 0, from_ns = 0, time_ns = 0, calls = 0;

	for (unsigned int i = 1; i <= 1000; i++) {
		time_ns += SECOND / 3 + i % 7 * (SECOND / 9);
		calls += i % 3 ? i : 0;
		counted(history, profile, time_ns, calls);
		if (i % 5)
			continue;
		sum += calls_of(history, profile, from_ns, time_ns - i % 2 * 1000);
		from_ns = time_ns - i % 2 * 1000;
		assert_int_equal(sum, calls);
	}
	profile_free(profile);
	history_free(history);
}

/* While nothing is sampled no generation is too old, but there are too many bytes. */
TEST(recorder_history, counts_without_samples_are_bounded)
{
	struct history *history = history_new(1000 * SECOND, 100 * sizeof(struct sample));
	struct profile *profile = counting();
	uint64_t calls;

	for (uint64_t s = 1; s <= 5000; s++)
		counted(history, profile, s * SECOND, s);
	calls = calls_of(history, profile, 0, 5000 * SECOND);
	assert_in_range(calls, 1, 100 * sizeof(struct sample) / 16);
	profile_free(profile);
	history_free(history);
}

TEST(recorder_history, calls_are_counted_up_to_the_end_of_a_process)
{
	struct history *history = history_new(60 * SECOND, UINT64_MAX);
	struct profile *profile = counting();
	struct profile_process ended = {.pid = 80, .parent = 0, .start_ns = 20 * SECOND};
	struct profile_count place = {.where = {1},
				      .callee = {2},
				      .kind = COUNT_CALL,
				      .process = 1,
				      .calls = 7,
				      .from_ns = 20 * SECOND,
				      .to_ns = 22 * SECOND};
	struct history_span span = {15 * SECOND, 30 * SECOND, 1000 * SECOND};
	struct profile *excerpt;

	profile_add_process(profile, &ended);
	for (uint64_t s = 1; s <= 30; s++) {
		if (s == 22) {
			profile_add_count(profile, &place);
			profile->processes[1].end_ns = 22 * SECOND;
		}
		profile->probes.counts[0].to_ns = s * SECOND;
		sampled(history, profile, 0, s * SECOND, 1);
	}
	excerpt = history_excerpt(history, profile, &span);
	assert_int_equal(excerpt->probes.nr_counts, 2);
	assert_int_equal(excerpt->probes.counts[0].calls, 0);
	assert_int_equal(excerpt->probes.counts[1].calls, 7);
	assert_int_equal(excerpt->probes.counts[1].from_ns, 5 * SECOND);
	assert_int_equal(excerpt->frames[excerpt->probes.counts[1].callee.v].where.address, 2);
	profile_free(excerpt);
	span.from_ns = 25 * SECOND;
	excerpt = history_excerpt(history, profile, &span);
	assert_int_equal(excerpt->probes.nr_counts, 1);
	profile_free(excerpt);
	profile_free(profile);
	history_free(history);
}

/* The processes have been let go then. */
static void ended(struct profile *profile, uint64_t time_ns)
{
	profile->meta.duration_ns = time_ns;
	profile->processes[0].end_ns = profile->threads[0].end_ns = time_ns;
	profile_set_counter(profile, "missed_ticks", 7);
}

/* Three profiles of ten seconds each, half a second apart, with a sample each second; and one now.
 */
static struct history *with_former(uint64_t most_bytes, struct profile **now)
{
	struct history *history = history_new(12 * SECOND, UINT64_MAX);

	for (int i = 0; i < 3; i++) {
		struct profile *former = recording();

		for (uint64_t s = 1; s < 10; s++)
			sampled(history, former, 0, s * SECOND, 2);
		profile_add_mark(former, 9 * SECOND, "former");
		ended(former, 10 * SECOND);
		history_continue(history, former, 10 * SECOND + SECOND / 2, most_bytes);
		profile_free(former);
	}
	*now = recording();
	profile_set_counter(*now, "missed_ticks", 1);
	return history;
}

static size_t nr_samples_with_time(const struct profile *profile)
{
	size_t nr = 0;

	for (size_t i = 0; i < profile->nr_samples; i++)
		nr += profile->samples[i].cpu_ns != 0;
	return nr;
}

TEST(recorder_history, an_excerpt_reaches_back_into_former_profiles)
{
	struct profile *profile, *excerpt;
	struct history *history = with_former(UINT64_MAX, &profile);
	struct history_span span = {25 * SECOND, 33 * SECOND, 1000 * SECOND};
	struct history_state state;

	assert_int_equal(history_base_ns(history), 31 * SECOND + SECOND / 2);
	sampled(history, profile, 0, SECOND, 1);
	excerpt = history_excerpt(history, profile, &span);
	/* At 25, which has no time of the excerpt, to 30; and the one now. */
	assert_int_equal(nr_samples_with_time(excerpt), 6);
	assert_int_equal(excerpt->samples[0].time_ns, 0);
	assert_int_equal(excerpt->samples[excerpt->nr_samples - 1].time_ns,
			 7 * SECOND + SECOND / 2);
	assert_int_equal(excerpt->meta.duration_ns, 8 * SECOND);
	assert_int_equal(excerpt->meta.start_realtime_ns, 992 * SECOND);
	assert_int_equal(excerpt->nr_marks, 1);
	assert_int_equal(excerpt->marks[0].time_ns, 5 * SECOND);
	/* They are the same process and thread, which live on. */
	assert_int_equal(excerpt->nr_processes, 1);
	assert_int_equal(excerpt->processes[0].end_ns, 0);
	assert_int_equal(excerpt->threads[0].tid, 70);
	assert_int_equal(excerpt->threads[0].end_ns, 0);
	assert_int_equal(profile_counter(excerpt, "missed_ticks"), 3 * 7 + 1);
	history_read(history, &state);
	assert_int_equal(state.time_ns, 32 * SECOND + SECOND / 2);
	assert_int_equal(state.cpu_ns, 28 * (SECOND / 10));
	history_state_release(&state);
	profile_free(excerpt);
	profile_free(profile);
	history_free(history);
}

TEST(recorder_history, a_former_profile_that_is_too_old_leaves_its_counters)
{
	struct profile *profile, *excerpt;
	struct history *history = with_former(UINT64_MAX, &profile);
	struct history_span all = {0, 44 * SECOND + SECOND / 2, 1000 * SECOND};

	for (uint64_t s = 1; s <= 13; s++)
		sampled(history, profile, 0, s * SECOND, 1);
	excerpt = history_excerpt(history, profile, &all);
	assert_int_equal(excerpt->nr_samples, 13);
	assert_int_equal(excerpt->nr_processes, 1);
	assert_int_equal(excerpt->nr_marks, 0);
	assert_int_equal(excerpt->meta.duration_ns, 13 * SECOND);
	assert_int_equal(profile_counter(excerpt, "missed_ticks"), 3 * 7 + 1);
	profile_free(excerpt);
	profile_free(profile);
	history_free(history);
}

/* Two of them are too many. */
TEST(recorder_history, former_profiles_never_have_larger_tables_than_they_may)
{
	struct profile *profile, *excerpt;
	struct history *history = with_former(1, &profile);
	struct history_span all = {0, 33 * SECOND, 1000 * SECOND};

	sampled(history, profile, 0, SECOND, 1);
	excerpt = history_excerpt(history, profile, &all);
	assert_int_equal(nr_samples_with_time(excerpt), 10);
	assert_int_equal(excerpt->meta.duration_ns, 12 * SECOND);
	profile_free(excerpt);
	profile_free(profile);
	history_free(history);
}

TEST(recorder_history, it_says_how_large_the_tables_are)
{
	struct history *history = history_new(12 * SECOND, UINT64_MAX);
	struct profile *profile = recording();
	uint64_t nr_bytes;

	history_look(history, profile);
	nr_bytes = history_table_bytes(history);
	assert_in_range(nr_bytes, 100, 1000000);
	for (int i = 0; i < 1000; i++) {
		char text[1000];

		snprintf(text, sizeof(text), "%999d", i);
		profile_intern(profile, text);
	}
	history_look(history, profile);
	assert_in_range(history_table_bytes(history), nr_bytes + 900000, nr_bytes + 2000000);
	profile_free(profile);
	history_free(history);
}

/* A function that both threads call: one call of so many nanoseconds has ended at that time. */
static void timed(struct history *history, struct profile *profile, uint64_t time_ns,
		  uint64_t length_ns)
{
	uint64_t from_ns = time_ns - length_ns;

	profile->spans.told_ns = time_ns;
	profile_add_span_sum(profile, &(struct profile_span_sum){.to_ns = time_ns,
								 .nr_begun = 1,
								 .total_ns = length_ns,
								 .longest_ns = length_ns,
								 .longest_from_ns = from_ns,
								 .longest_thread = 1});
	profile_add_span_length(profile, &(struct profile_span_length){.to_ns = time_ns,
								       .least_ns = length_ns,
								       .end_ns = length_ns + 1,
								       .nr = 1});
	profile_add_slow_call(profile, &(struct profile_slow_call){.thread = 1,
								   .from_ns = from_ns,
								   .length_ns = length_ns});
	history_look(history, profile);
	profile_drop_calls(profile);
}

static struct profile *timing(void)
{
	struct profile *profile = recording();

	profile_add_span(profile, &(struct profile_span){.where = {3}, .from_ns = 1});
	return profile;
}

TEST(recorder_history, timed_calls_are_those_of_the_time_of_an_excerpt)
{
	struct history *history = history_new(12 * SECOND, UINT64_MAX);
	struct profile *profile = timing();
	struct history_span span = {50 * SECOND + SECOND / 2, 60 * SECOND, 1000 * SECOND};
	struct profile *excerpt;

	for (uint64_t s = 2; s <= 60; s++)
		timed(history, profile, s * SECOND, s == 51 ? SECOND : 1000 + s);
	excerpt = history_excerpt(history, profile, &span);
	assert_int_equal(excerpt->spans.nr, 1);
	assert_int_equal(excerpt->frames[excerpt->spans.rows[0].where.v].where.address, 3);
	/* From the look after its beginning on; slow calls are known one by one. */
	assert_int_equal(excerpt->spans.rows[0].from_ns, SECOND / 2);
	assert_int_equal(excerpt->spans.nr_sums, 9);
	assert_int_equal(excerpt->spans.nr_lengths, 9);
	assert_int_equal(excerpt->spans.sums[0].to_ns, SECOND + SECOND / 2);
	assert_int_equal(excerpt->spans.sums[0].total_ns, 1052);
	assert_int_equal(excerpt->spans.sums[8].longest_ns, 1060);
	assert_int_equal(excerpt->spans.lengths[8].least_ns, 1060);
	assert_int_equal(excerpt->spans.nr_slow, 10);
	assert_int_equal(excerpt->spans.slow[0].from_ns, 0);
	assert_int_equal(excerpt->spans.slow[0].length_ns, SECOND / 2);
	assert_int_equal(excerpt->threads[excerpt->spans.slow[0].thread].tid, 71);
	profile_free(excerpt);
	profile_free(profile);
	history_free(history);
}

TEST(recorder_history, a_function_without_calls_in_the_time_is_shown_as_that)
{
	struct history *history = history_new(12 * SECOND, UINT64_MAX);
	struct profile *profile = timing();
	struct history_span span = {50 * SECOND, 60 * SECOND, 1000 * SECOND};
	struct profile *excerpt;

	timed(history, profile, 20 * SECOND, 100);
	excerpt = history_excerpt(history, profile, &span);
	assert_int_equal(excerpt->spans.nr, 1);
	assert_int_equal(excerpt->spans.rows[0].from_ns, 0);
	assert_int_equal(excerpt->spans.nr_sums, 0);
	assert_int_equal(excerpt->spans.nr_slow, 0);
	profile_free(excerpt);
	profile_free(profile);
	history_free(history);
}

TEST(recorder_history, timed_calls_are_bounded)
{
	struct history *history = history_new(12 * SECOND, 10000);
	struct profile *profile = timing();
	struct history_span all = {0, 1000 * SECOND, 2000 * SECOND};
	struct profile *excerpt;

	for (uint64_t s = 1; s < 1000; s++) {
		sampled(history, profile, 0, s * SECOND, 1);
		timed(history, profile, s * SECOND, 100);
	}
	excerpt = history_excerpt(history, profile, &all);
	assert_in_range(excerpt->spans.nr_slow, 5, 14);
	assert_in_range(excerpt->spans.nr_sums, 5, 14);
	profile_free(excerpt);
	profile_free(profile);
	history_free(history);
}

TEST(recorder_history, the_longest_call_is_taken_once)
{
	struct history *history = history_new(12 * SECOND, UINT64_MAX);
	struct profile *profile = timing();
	struct long_call call = {0};

	assert_false(history_take_longest(history, 0, &call));
	timed(history, profile, 2 * SECOND, 100);
	timed(history, profile, 3 * SECOND, 300);
	timed(history, profile, 4 * SECOND, 200);
	assert_false(history_take_longest(history, 1, &call));
	assert_true(history_take_longest(history, 0, &call));
	assert_int_equal(call.length_ns, 300);
	assert_int_equal(call.end_ns, 3 * SECOND);
	assert_false(history_take_longest(history, 0, &call));
	timed(history, profile, 5 * SECOND, 10);
	assert_true(history_take_longest(history, 0, &call));
	assert_int_equal(call.length_ns, 10);
	profile_free(profile);
	history_free(history);
}

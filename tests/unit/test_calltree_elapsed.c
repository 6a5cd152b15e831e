// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "calltree/elapsed.h"
#include "calltree/flat.h"
#include "calltree/observe.h"
#include "profile/courses.h"
#include "profile/prepare.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"

#define MS UINT64_C(1000000)

/*
 * A profile of threads whose lives are drawn, a letter for each 10 ms, at the end of which there is
 * a sample: R ran, B slept, Q waited for a CPU, and `.` is before its begin or after its end.
 * Stacks are the name of the thread and the state: "main.R".
 */
static void draw(struct made *made, const char *name, const char *course)
{
	struct thread_id thread = {0};
	size_t first = strspn(course, ".");
	char stack[64];

	if (made->profile->nr_samples)
		thread = made_thread(made, 100, 100 + (int)made->profile->nr_threads, name);
	made->thread = thread;
	made->profile->threads[thread.v].name = profile_intern(made->profile, name);
	made->profile->threads[thread.v].start_ns = first * 10 * MS;
	for (size_t i = first; course[i] && course[i] != '.'; i++) {
		struct sample *sample;

		snprintf(stack, sizeof(stack), "%s.%c", name, course[i]);
		sample = made_sample(made, stack, 0);
		sample->time_ns = (i + 1) * 10 * MS;
		sample->kind = course[i] == 'B' ? SAMPLE_BLOCKED : SAMPLE_RUNNING;
		sample->cpu_ns = course[i] == 'R' ? 10 * MS : 0;
		sample->runq_ns = course[i] == 'Q' ? 10 * MS : 0;
		sample->blocked_ns = course[i] == 'B' ? 10 * MS : 0;
	}
	made->profile->meta.duration_ns = strlen(course) * 10 * MS;
	made->profile->meta.nr_cpus = 16;
}

/* Tests change samples that were added. */
static struct profile *drawn(struct made *made)
{
	struct profile *profile = made_end(made);

	for (size_t i = 0; i < profile->nr_samples; i++)
		profile->samples[i].recorded_cpu_ns = profile->samples[i].cpu_ns;
	profile_prepare(profile);
	return profile;
}

/* "self% name" of each row, in us; and that all add up to the time that is selected. */
static void expect_us(struct profile *profile, const struct filter *filter,
		      enum dimension dimension, const char *expected)
{
	struct weighed_fixture weighed = weighed_new(profile, filter, METRIC_ELAPSED);
	struct flat *flat = flat_new(weighed.weights, dimension);
	struct buf text = {0};

	for (size_t i = 0; i < flat->nr; i++) {
		if (!flat->rows[i].self.weight)
			continue;
		buf_printf(&text, "%lu ",
			   (unsigned long)((flat->rows[i].self.weight + 500) / 1000));
		flat_append_name(&text, flat, &flat->rows[i], NAME_SHORT);
		buf_append_byte(&text, '\n');
	}
	assert_string_equal(buf_str(&text), expected);
	if (!filter || !filter->parallelism.is_given)
		assert_int_equal(weighed.weights->total.weight,
				 selection_elapsed_ns(weighed.selection));
	buf_release(&text);
	flat_free(flat);
	weighed_free(&weighed);
}

/*
 * 100 ms: alone, two at once, and nothing. The sleep of the first thread goes on when the second
 * one has ended: it is what the program waits for.
 */
TEST(elapsed, an_instant_is_divided_among_the_threads_that_run)
{
	struct made made = made_begin();
	struct profile *profile;

	draw(&made, "main", "RRRRBBBBBB");
	draw(&made, "work", "..RRRR....");
	profile = drawn(&made);
	expect_us(profile, NULL, BY_FUNCTION,
		  "40000 main.B\n"
		  "30000 main.R\n"
		  "30000 work.R\n");
	expect_us(profile, NULL, BY_PARALLELISM,
		  "40000 0\n"
		  "40000 1\n"
		  "20000 2\n");
	profile_free(profile);
}

/* 13 threads multiply matrices for 40 ms, then one works alone for 60: 90% of CPU time, or 40%. */
TEST(elapsed, what_runs_in_parallel_takes_less_than_its_cpu_time)
{
	struct made made = made_begin();
	struct profile *profile;
	struct weighed_fixture weighed;

	draw(&made, "python", "BBBBRRRRRR");
	for (int i = 0; i < 13; i++)
		draw(&made, "matmul", "RRRR......");
	profile = drawn(&made);
	weighed = weighed_new(profile, NULL, METRIC_CPU);
	assert_int_equal(weighed.weights->total.weight, (13 * 40 + 60) * MS);
	weighed_free(&weighed);
	expect_us(profile, NULL, BY_FUNCTION,
		  "60000 python.R\n"
		  "40000 matmul.R\n");
	profile_free(profile);
}

/* A straggler: three join, the last one works on for 60 ms. */
TEST(elapsed, a_straggler_has_the_time_that_it_works_alone)
{
	const struct filter alone = {.parallelism = {.is_given = true, .from = 1, .to = 1}};
	struct made made = made_begin();
	struct profile *profile;

	draw(&made, "main", "BBBBBBBBBR");
	draw(&made, "fast", "RR........");
	draw(&made, "same", "RRR.......");
	draw(&made, "slow", "RRRRRRRRR.");
	profile = drawn(&made);
	expect_us(profile, NULL, BY_THREAD,
		  "71667 slow\n"
		  "11667 same\n"
		  "10000 main\n"
		  "6667 fast\n");
	expect_us(profile, &alone, BY_FUNCTION,
		  "60000 slow.R\n"
		  "10000 main.R\n");
	profile_free(profile);
}

/* Nothing runs: that thread's sleep counts which runs next, and at the end that which ran last. */
TEST(elapsed, idle_time_is_the_sleep_of_the_thread_that_runs_next)
{
	struct made made = made_begin();
	struct profile *profile;

	draw(&made, "first", "RRBBBBBBBB");
	draw(&made, "second", "BBBBBRRBBB");
	draw(&made, "idle", "BBBBBBBBBB");
	profile = drawn(&made);
	expect_us(profile, NULL, BY_FUNCTION,
		  "60000 second.B\n"
		  "20000 first.R\n"
		  "20000 second.R\n");
	profile_free(profile);
}

/* Two threads that alternate on a CPU run one at a time; where other programs have it, none does.
 */
TEST(elapsed, threads_that_wait_for_a_cpu_share_it)
{
	struct made made = made_begin();
	struct profile *profile;
	struct sample *samples;

	draw(&made, "a", "RRRR");
	draw(&made, "b", "RRRR");
	samples = made.profile->samples;
	for (size_t i = 0; i < made.profile->nr_samples; i++)
		samples[i].cpu_ns = samples[i].runq_ns = 5 * MS;
	profile = drawn(&made);
	expect_us(profile, NULL, BY_PARALLELISM, "40000 1\n");
	expect_us(profile, NULL, BY_THREAD, "20000 a\n20000 b\n");
	profile_free(profile);
}

TEST(elapsed, time_on_the_run_queue_is_of_those_who_wait)
{
	struct made made = made_begin();
	struct profile *profile;
	struct sample *samples;

	draw(&made, "a", "RRRR");
	samples = made.profile->samples;
	for (size_t i = 0; i < made.profile->nr_samples; i++) {
		samples[i].cpu_ns = 3 * MS;
		samples[i].runq_ns = 7 * MS;
	}
	profile = drawn(&made);
	expect_us(profile, NULL, BY_STATE, "28000 waiting for a CPU\n12000 running\n");
	profile_free(profile);
}

/* Only the time from 15 to 75 ms, which cuts samples. */
TEST(elapsed, a_time_range_adds_up_to_its_length)
{
	const struct filter filter = {.from_ns = 15 * MS, .to_ns = 75 * MS + 1};
	struct made made = made_begin();
	struct profile *profile;

	draw(&made, "main", "RRRRBBBBBB");
	draw(&made, "work", "..RRRR....");
	profile = drawn(&made);
	expect_us(profile, &filter, BY_FUNCTION,
		  "30000 work.R\n"
		  "15000 main.B\n"
		  "15000 main.R\n");
	profile_free(profile);
}

/* Between two samples of a thread the order is not known: CPU time of others overlaps it, or not.
 */
TEST(elapsed, an_unknown_order_makes_the_interval_wider)
{
	struct made made = made_begin();
	struct profile *profile;
	struct weighed_fixture weighed;
	const struct tally *first;

	draw(&made, "a", "RRRRRRRRRR");
	draw(&made, "b", "RRRRRRRRRR");
	for (size_t i = 0; i < made.profile->nr_samples; i++)
		made.profile->samples[i].cpu_ns = 5 * MS; /* and it slept for 5 ms */
	profile = drawn(&made);
	weighed = weighed_new(profile, NULL, METRIC_ELAPSED);
	/* Both at once, each has 25 ms and 50 ms are idle; in turns, each has 50. */
	first = &weighed.weights->stacks[0].tally;
	assert_int_equal((first->weight + 500) / 1000, 25000);
	assert_float_equal(first->slack / MS, 25, 0.1);
	assert_true(tally_half(first, &weighed.weights->total) > 25);
	weighed_free(&weighed);
	profile_free(profile);
}

/*
 * CPU time that a sleeper's sample leaves to the next sample that ran goes back to where it was
 * used: the thread ran for 4 ms after its first sample, slept, and ran 2 ms before the last one.
 */
TEST(elapsed, cpu_time_goes_back_to_the_gap_that_it_was_used_in)
{
	struct made made = made_begin();
	struct profile *profile;
	struct courses *courses;
	struct buf text = {0};

	draw(&made, "t", "RBBR");
	made.profile->samples[1].blocked_ns = 6 * MS;
	made.profile->samples[3].cpu_ns = 6 * MS;
	profile = drawn(&made);
	courses = courses_new(profile);
	for (size_t i = 0; i < courses->nr; i++)
		buf_printf(&text, "%s %lu\n", courses->rows[i].on_cpu > 0 ? "runs" : "sleeps",
			   (unsigned long)(courses->rows[i].end_ns / MS));
	assert_string_equal(buf_str(&text), "runs 10\n"
					    "runs 14\n"
					    "sleeps 20\n"
					    "sleeps 30\n"
					    "sleeps 38\n"
					    "runs 40\n");
	assert_int_equal(courses->unplaced_ns, 0);
	buf_release(&text);
	courses_free(courses);
	profile_free(profile);
}

/* Time of threads that no tick has met has no moment: it is counted, and in no part. */
TEST(elapsed, time_without_a_moment_is_counted)
{
	struct made made = made_begin();
	struct profile *profile;
	struct sample *sample;
	struct weighed_fixture weighed;

	draw(&made, "main", "BBBBBBBBBB");
	made_thread(&made, 100, 0, SHORT_LIVED_NAME);
	sample = made_sample(&made, "", 0);
	sample->kind = SAMPLE_UNATTRIBUTED;
	sample->nr = 0;
	sample->cpu_ns = 70 * MS;
	sample->time_ns = 100 * MS;
	made.profile->meta.duration_ns = 100 * MS;
	profile = drawn(&made);
	expect_us(profile, NULL, BY_FUNCTION, "100000 main.B\n");
	weighed = weighed_new(profile, NULL, METRIC_ELAPSED);
	assert_int_equal(selection_elapsed(weighed.selection)->unplaced_ns, 70 * MS);
	weighed_free(&weighed);
	profile_free(profile);
}

static void expect_sum(const struct profile *profile)
{
	struct weighed_fixture weighed = weighed_new(profile, NULL, METRIC_ELAPSED);

	assert_int_equal(weighed.weights->total.weight, profile->meta.duration_ns);
	weighed_free(&weighed);
}

/* Threads that sleep, run and wait at random, of any profile: the sum is the wall clock. */
TEST(elapsed, any_profile_adds_up_to_the_nanosecond)
{
	uint64_t random = 88172645463325252;

	for (int round = 0; round < 50; round++) {
		struct made made = made_begin();
		struct profile *profile;
		char course[64];

		for (int thread = 0; thread < 7; thread++) {
			for (size_t i = 0; i < sizeof(course) - 1; i++) {
				random ^= random << 13;
				random ^= random >> 7;
				random ^= random << 17;
				course[i] = "RBQR"[random >> 32 & 3];
			}
			course[sizeof(course) - 1] = '\0';
			draw(&made, "t", course);
		}
		for (size_t i = 0; i < made.profile->nr_samples; i++) {
			struct sample *sample = &made.profile->samples[i];

			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			sample->cpu_ns = sample->cpu_ns * (random & 1023) / 512;
			sample->blocked_ns = sample->blocked_ns * (random >> 10 & 1023) / 512;
			sample->time_ns += random >> 20 & 8191;
		}
		made.profile->meta.duration_ns += random & 1048575;
		profile = drawn(&made);
		expect_sum(profile);
		profile_free(profile);
	}
}

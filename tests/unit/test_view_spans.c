// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "base/sink.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "view/spans_text.h"

static void add_length(struct profile *profile, uint64_t least_ns, uint64_t end_ns, uint64_t nr)
{
	profile_add_span_length(profile, &(struct profile_span_length){
						 .least_ns = least_ns, .end_ns = end_ns, .nr = nr});
}

/* 1000 calls: 900 of 100 to 112 ns, 98 of 1 to 1.1 us, and two of 70 ms, of which one is longest.
 */
static struct profile *made_up(void)
{
	struct made made = made_begin();
	struct profile *profile = made.profile;
	struct profile_span_sum sum = {.nr_begun = 600,
				       .total_ns = 70123456,
				       .longest_ns = 70000000,
				       .longest_from_ns = 1234567890};
	char work[] = "work";

	made_sample(&made, "main;work", 1000);
	profile_add_span(profile, &(struct profile_span){.where = made_frame(profile, work)});
	profile_add_span_sum(profile, &sum);
	add_length(profile, 1000, 1100, 98);
	add_length(profile, 100, 112, 500);
	/* Later the clock is known better, and a longer call is over. */
	sum.nr_begun = 402;
	sum.total_ns = 71000000;
	sum.longest_ns = 71000000;
	sum.longest_from_ns = 2000000000;
	profile_add_span_sum(profile, &sum);
	add_length(profile, 101, 113, 400);
	profile_add_slow_call(
		profile, &(struct profile_slow_call){.from_ns = 2000000000, .length_ns = 71000000});
	add_length(profile, 68000000, 76000000, 2);
	return made_end(&made);
}

TEST(spans, have_percentiles_and_the_longest)
{
	const struct view view = {.columns = 110};
	struct profile *profile = made_up();
	struct sink sink = SINK_MEMORY;

	spans_print_text(profile, &view, &sink);
	assert_string_equal(buf_str(&sink.pending),
			    "calls  total   mean    p50    p90     p99   p99.9 longest      at  "
			    "thread      lengths                function\n"
			    "1,000 141 ms 141 µs 107 ns 112 ns 1.09 µs 69.5 ms 71.0 ms 2.000 s  "
			    "prog (100)  █   ▆               ▂  work\n"
			    "\n"
			    "   from calls\n"
			    "64.0 ns   900  ████████████████████████████████████████\n"
			    " 128 ns     0\n"
			    " 256 ns     0\n"
			    " 512 ns     0\n"
			    "1.02 µs    98  ████\n"
			    "2.05 µs     0\n"
			    "4.10 µs     0\n"
			    "8.19 µs     0\n"
			    "16.4 µs     0\n"
			    "32.8 µs     0\n"
			    "65.5 µs     0\n"
			    " 131 µs     0\n"
			    " 262 µs     0\n"
			    " 524 µs     0\n"
			    "1.05 ms     0\n"
			    "2.10 ms     0\n"
			    "4.19 ms     0\n"
			    "8.39 ms     0\n"
			    "16.8 ms     0\n"
			    "33.6 ms     0\n"
			    "67.1 ms     2  ▏\n"
			    "\n"
			    "note: 2 calls were not seen to end: they were left by an exception or "
			    "longjmp(), or with the thread, or went\n"
			    "      on at the end of the recording\n");
	sink_release(&sink);
	profile_free(profile);
}

TEST(spans, are_joined_by_length_in_json)
{
	struct profile *profile = made_up();
	struct sink sink = SINK_MEMORY;

	spans_print_json(profile, &sink);
	assert_string_equal(
		buf_str(&sink.pending),
		"{\"spans\":[{\"function\":\"work\",\"process\":\"prog\",\"pid\":100,\"from_ns\":0,"
		"\"calls\":1000,\"not_ended\":2,\"total_ns\":141123456,\"mean_ns\":141123.5,"
		"\"p50_ns\":106.7,\"p90_ns\":112,\"p99_ns\":1091.8,\"p99_9_ns\":69500000,"
		"\"longest_ns\":71000000,\"longest_from_ns\":2000000000,\"longest_thread\":"
		"\"prog\","
		"\"longest_tid\":100,\"lengths\":[{\"least_ns\":100,\"end_ns\":112,\"calls\":900},"
		"{\"least_ns\":1000,\"end_ns\":1100,\"calls\":98},"
		"{\"least_ns\":68000000,\"end_ns\":76000000,\"calls\":2}],\"slow\":[{\"from_ns\":"
		"2000000000,"
		"\"length_ns\":71000000,\"thread\":\"prog\",\"tid\":100}]}]}\n");
	sink_release(&sink);
	profile_free(profile);
}

static const char gc_mark[] = "usdt:ruby:gc__mark__begin:gc__mark__end";
static const char gc_sweep[] = "usdt:ruby:gc__sweep__begin:gc__sweep__end";

/* A pair in a process, with so many calls of 1 us. */
static void add_pair(struct made *made, int pid, const char *name, uint64_t nr_calls)
{
	struct thread_id thread = made_thread(made, pid, pid, "ruby");
	struct profile *profile = made->profile;
	struct profile_span_sum sum = {.span = (uint32_t)profile->spans.nr,
				       .nr_begun = nr_calls,
				       .total_ns = nr_calls * 1000,
				       .longest_ns = 1000,
				       .longest_from_ns = 1000000000,
				       .longest_thread = thread.v};
	char work[] = "work";
	struct profile_span_length length = {
		.span = sum.span, .least_ns = 1000, .end_ns = 1100, .nr = nr_calls};

	profile_add_span(profile,
			 &(struct profile_span){.where = made_frame(profile, work),
						.process = profile->threads[thread.v].process,
						.pair = profile_intern(profile, name)});
	if (!nr_calls)
		return;
	profile_add_span_sum(profile, &sum);
	profile_add_span_length(profile, &length);
}

static void assert_table(struct made *made, size_t columns, const char *expected)
{
	const struct view view = {.columns = columns};
	struct profile *profile = made_end(made);
	struct sink sink = SINK_MEMORY;

	spans_print_text(profile, &view, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	profile_free(profile);
}

TEST(spans, of_pairs_are_told_apart_in_80_columns)
{
	struct made made = made_begin();

	add_pair(&made, 200, gc_sweep, 40);
	add_pair(&made, 200, gc_mark, 60);
	assert_table(
		&made, 80,
		"calls    mean     p50     p99 longest  function\n"
		"   60 1.00 µs 1.00 µs 1.00 µs 1.00 µs  usdt:ruby:gc__mark__begin:gc__mark__end\n"
		"   40 1.00 µs 1.00 µs 1.00 µs 1.00 µs  "
		"usdt:ruby:gc__sweep__begin:gc__sweep__end\n");
}

TEST(spans, of_processes_without_calls_have_no_rows)
{
	struct made made = made_begin();

	add_pair(&made, 201, gc_mark, 0);
	add_pair(&made, 202, gc_mark, 60);
	add_pair(&made, 203, gc_mark, 0);
	add_pair(&made, 203, gc_sweep, 0);
	add_pair(&made, 204, gc_sweep, 0);
	assert_table(&made, 200,
		     "calls   total    mean     p50     p90     p99   p99.9 longest      at  t"
		     "hread      lengths  function                                   process\n"
		     "   60 60.0 µs 1.00 µs 1.00 µs 1.00 µs 1.00 µs 1.00 µs 1.00 µs 1.000 s  r"
		     "uby (202)  █        usdt:ruby:gc__mark__begin:gc__mark__end    ruby (202)\n"
		     "    0    0 ns    0 ns    0 ns    0 ns    0 ns    0 ns    0 ns           "
		     "                    usdt:ruby:gc__sweep__begin:gc__sweep__end  2 processes\n"
		     "and 2 more without a call, in other processes (--json shows all)\n");
}

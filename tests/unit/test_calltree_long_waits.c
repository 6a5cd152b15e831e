// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocked time by what was waited for, and the page of `profc stat`. */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/sink.h"
#include "calltree/flat.h"
#include "calltree/long_waits.h"
#include "profile/tasks.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"
#include "view/stat_text.h"
#include "view/style.h"

#define CALL_WAIT4 61
#define CALL_READ  0

static uint32_t made_wait(struct made *made, enum wait_kind kind, uint64_t number, const char *name)
{
	const struct profile_wait row = {.process = made->profile->threads[made->thread.v].process,
					 .kind = (uint8_t)kind,
					 .number = number,
					 .place = WAIT_NO_PLACE,
					 .name = profile_intern(made->profile, name),
					 .owner = THREAD_NONE};

	return profile_waits_intern(profile_waits(made->profile), &row);
}

static void made_sleep(struct made *made, const char *stack, uint32_t wait, int call, uint64_t ms)
{
	struct sample *sample = made_sample(made, stack, 0);

	sample->kind = SAMPLE_BLOCKED;
	sample->wait = wait;
	sample->syscall_nr = (int16_t)call;
	sample->blocked_ns = ms * 1000000;
}

static struct profile *with_waits(void)
{
	struct made made = made_begin();

	made.profile->meta.knows_waits = true;
	made.profile->meta.arch = profile_intern(made.profile, "x86_64");
	made_sample(&made, "main;parse", 70);
	made_sample(&made, "main;print", 30);
	made_sleep(&made, "main;get;libc.so.6!pthread_mutex_lock",
		   made_wait(&made, WAIT_MUTEX, 0x4040, "[heap]"), 202, 30);
	made_sleep(&made, "main;load;libc.so.6!read", made_wait(&made, WAIT_FILE, 3, "/tmp/x"),
		   CALL_READ, 20);
	made_sleep(&made, "main;run;libc.so.6!wait4", 0, CALL_WAIT4, 40);
	made_sleep(&made, "main;run;libc.so.6!wait4", 0, CALL_WAIT4, 5);
	return made_end(&made);
}

static void expect_page(struct profile *profile, const struct stat_facts *wanted, size_t columns,
			const char *expected)
{
	const struct view view = {.columns = columns};
	struct weighed_fixture weighed = weighed_new(profile, NULL, METRIC_CPU);
	struct flat *functions = flat_new(weighed.weights, BY_FUNCTION);
	struct long_waits *waits = long_waits_new(weighed.selection);
	struct stat_facts facts = *wanted;
	struct sink sink = SINK_MEMORY;

	facts.profile = profile;
	facts.functions = functions;
	facts.waits = waits;
	stat_print_text(&facts, &view, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	long_waits_free(waits);
	flat_free(functions);
	weighed_free(&weighed);
	profile_free(profile);
}

TEST(long_waits, are_of_a_lock_a_descriptor_or_else_a_call)
{
	struct profile *profile = with_waits();
	struct weighed_fixture weighed = weighed_new(profile, NULL, METRIC_CPU);
	struct long_waits *waits = long_waits_new(weighed.selection);

	assert_int_equal(waits->total.weight, 95000000);
	assert_int_equal(waits->nr, 3);
	assert_int_equal(waits->rows[0].kind, LONG_WAIT_CALL);
	assert_int_equal(waits->rows[0].number, CALL_WAIT4);
	assert_int_equal(waits->rows[0].tally.weight, 45000000);
	assert_int_equal(waits->rows[1].kind, LONG_WAIT_LOCK);
	assert_int_equal(waits->rows[2].kind, LONG_WAIT_DESCRIPTOR);
	assert_int_equal(waits->rows[2].syscall_nr, CALL_READ);
	long_waits_free(waits);
	weighed_free(&weighed);
	profile_free(profile);
}

TEST(long_waits, are_on_one_page_with_the_totals)
{
	const struct stat_facts facts = {
		.elapsed_ns = 200000000,
		.cpu_ns = 100000000,
		.usage = {.is_known = true,
			  .peak_rss_bytes = 3 << 20,
			  .nr_minor_faults = 1200,
			  .nr_major_faults = 3,
			  .nr_voluntary_switches = 7,
			  .nr_involuntary_switches = 2},
		.status = 3 << 8,
		.limit = 2,
	};

	expect_page(
		with_waits(), &facts, 80,
		"\n"
		"prog\n"
		"        200 ms  elapsed\n"
		"        100 ms  CPU time      0.50 CPUs\n"
		"          0 ns  run queue     all threads: able to run, without a CPU\n"
		"       95.0 ms  blocked       all threads: asleep, or waiting for anything else\n"
		"             9  switches      7 voluntary, 2 involuntary\n"
		"         1,203  page faults   3 major\n"
		"      3.00 MiB  peak memory   the largest process\n"
		"             1  process       1 thread\n"
		"             3  exit status\n"
		"\n"
		"hottest functions, of CPU time\n"
		"  70.0% \xc2\xb1 40.5  parse    prog\n"
		"  30.0% \xc2\xb1 40.5  print    prog\n"
		"\n"
		"longest waits, of all threads together\n"
		"  45.0 ms  wait4                in run\n"
		"  30.0 ms  mutex 0x4040 [heap]  in get\n");
}

/* A line that is not known is left out, and so is a table without functions. */
TEST(long_waits, page_of_an_attached_process_that_slept)
{
	const struct stat_facts facts = {.elapsed_ns = 1000000000, .status = STAT_STATUS_NONE};
	struct made made = made_begin();

	made.profile->threads[made.thread.v].nr_switches = 4;
	made_sleep(&made, "main;run;libc.so.6!wait4", 0, CALL_WAIT4, 1000);
	expect_page(made_end(&made), &facts, 40,
		    "\n"
		    "prog\n"
		    "        1.00 s  elapsed\n"
		    "          0 ns  CPU time      0.00 CPUs\n"
		    "          0 ns  run queue     all threa\xe2\x80\xa6\n"
		    "        1.00 s  blocked       all threa\xe2\x80\xa6\n"
		    "             4  switches\n"
		    "             0  page faults\n"
		    "             1  process       1 thread\n"
		    "\n"
		    "no function was sampled on a CPU\n"
		    "\n"
		    "longest waits, of all threads together\n"
		    "  1.00 s  system call 61  in run\n");
}

TEST(tasks, are_counted_once_whatever_they_execute)
{
	struct profile *profile = profile_new();
	const struct profile_process rows[] = {
		{.pid = 10, .parent = PROCESS_NONE},
		{.pid = 10, .parent = 0}, /* an exec */
		{.pid = 11, .parent = 1},
		{.pid = 0,
		 .parent = 1,
		 .nr_unseen = 5,
		 .name = profile_intern(profile, SHORT_LIVED_NAME)},
	};
	struct profile_tasks tasks;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct profile_thread thread = {
			.process = profile_add_process(profile, &rows[i]).v, .tid = rows[i].pid};

		profile_add_thread(profile, &thread);
	}
	assert_false(profile_process_is_exec(profile, 0));
	assert_true(profile_process_is_exec(profile, 1));
	assert_false(profile_process_is_exec(profile, 2));
	tasks = profile_count_tasks(profile);
	assert_int_equal(tasks.nr_processes, 2);
	assert_int_equal(tasks.nr_unseen, 5);
	assert_int_equal(tasks.nr_threads, 2);
	profile_free(profile);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "base/sink.h"
#include "calltree/chain.h"
#include "calltree/filter.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"
#include "view/chain_text.h"
#include "view/style.h"

#define NS_PER_MS UINT64_C(1000000)
#define NR_WAIT4  61 /* of x86-64 */

static uint32_t made_wait(struct made *made, enum wait_kind kind, uint64_t number,
			  struct thread_id owner)
{
	const struct profile_wait row = {.process = made->profile->threads[made->thread.v].process,
					 .kind = (uint8_t)kind,
					 .number = number,
					 .place = WAIT_NO_PLACE,
					 .name = profile_intern(made->profile, "[heap]"),
					 .peer = profile_intern(made->profile, ""),
					 .owner = owner};

	return profile_waits_intern(profile_waits(made->profile), &row);
}

/* A wait for the other end of a pipe. */
static uint32_t made_pipe(struct made *made, const char *name, const char *peer)
{
	const struct profile_wait row = {.process = made->profile->threads[made->thread.v].process,
					 .kind = WAIT_FILE,
					 .place = WAIT_NO_PLACE,
					 .name = profile_intern(made->profile, name),
					 .peer = profile_intern(made->profile, peer),
					 .owner = THREAD_NONE};

	return profile_waits_intern(profile_waits(made->profile), &row);
}

/* The current thread ran, or was blocked, up to then, and did so since its last sample. */
static void made_until_ns(struct made *made, const char *stack, bool runs, uint32_t wait,
			  uint64_t from_ns, uint64_t to_ns)
{
	struct sample *sample = made_sample(made, stack, runs ? (to_ns - from_ns) / NS_PER_MS : 0);

	sample->kind = runs ? SAMPLE_RUNNING : SAMPLE_BLOCKED;
	sample->wait = wait;
	sample->time_ns = to_ns;
	sample->blocked_ns = runs ? 0 : to_ns - from_ns;
}

static void made_until(struct made *made, const char *stack, bool runs, uint32_t wait,
		       uint64_t from_ms, uint64_t to_ms)
{
	made_until_ns(made, stack, runs, wait, from_ms * NS_PER_MS, to_ms * NS_PER_MS);
}

/* One after another, back in time, without a gap. */
static void expect_parts(const struct chain *chain)
{
	uint64_t length_ns = 0;

	for (size_t i = 0; i < chain->nr_parts; i++) {
		if (i)
			assert_int_equal(chain->parts[i].end_ns, chain->parts[i - 1].begin_ns);
		length_ns += chain->parts[i].end_ns - chain->parts[i].begin_ns;
	}
	assert_int_equal(length_ns, chain->total.weight);
}

static void expect_table(const struct profile *profile, const struct filter *filter,
			 const char *expected)
{
	const struct view view = {.columns = 90};
	struct weighed_fixture weighed = weighed_new(profile, filter, METRIC_ELAPSED);
	struct chain *chain = chain_new(weighed.selection);
	struct sink sink = SINK_MEMORY;

	chain_print_text(chain, 0, &view, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	expect_parts(chain);
	sink_release(&sink);
	chain_free(chain);
	weighed_free(&weighed);
}

/*
 * main runs 10 ms, waits until 50 for the end of the slow worker, and up to 60 for something that
 * is not known. The slow worker had run alone, then waited for a lock from 20 to 35, which the
 * quick one had; that one ends early, and its later work is in no chain.
 */
TEST(chain, goes_through_locks_and_ends_of_threads)
{
	struct made made = made_begin();
	struct thread_id quick, slow;
	struct profile *profile;

	slow = made_thread(&made, 100, 101, "slow");
	quick = made_thread(&made, 100, 102, "quick");
	made_until(&made, "start;hold", true, 0, 0, 35);
	made_until(&made, "start;rest", true, 0, 35, 45);
	made.thread = slow;
	made_until(&made, "start;first", true, 0, 0, 20);
	made_until(&made, "start;get", false, made_wait(&made, WAIT_MUTEX, 0x4040, quick), 20, 35);
	made_until(&made, "start;second", true, 0, 35, 50);
	made.thread = (struct thread_id){0};
	made_until(&made, "main", true, 0, 0, 10);
	made_until(&made, "main;join", false, made_wait(&made, WAIT_THREAD, 0x7000, slow), 10, 50);
	made_until(&made, "main;wait", false, 0, 50, 60);
	profile = made_end(&made);
	expect_table(
		profile, NULL,
		"  ms    %    ±  thread     how      in function  waited for\n"
		"35.0 58.3 40.1  102 quick  ran      hold\n"
		"15.0 25.0 38.4  101 slow   ran      second\n"
		"10.0 16.7 37.0  100 prog   blocked  main         [not known]\n"
		"\n"
		"note: the chain goes back in time from the end of 100 prog. It goes on 1 time to "
		"the "
		"last\n"
		"      owner that was seen of a lock, 1 time to a thread that ended. What ends the "
		"waits\n"
		"      that are ‘blocked’ here is not known, or no thread of this profile; "
		"'report\n"
		"      --wakers' tells more of them.\n");
	profile_free(profile);
}

/* Nothing is known of main between its wait for the lock and the begin of the worker. */
TEST(chain, does_not_fill_a_gap_with_another_thread)
{
	const char *worker = "101";
	const struct filter filter = {.threads = {&worker, 1}};
	struct made made = made_begin();
	struct thread_id owner;
	struct profile *profile;
	uint32_t wait;

	made.profile->threads[made_thread(&made, 100, 101, "worker").v].start_ns = 50 * NS_PER_MS;
	made_until(&made, "start;work", true, 0, 50, 80);
	owner = made_thread(&made, 100, 102, "owner");
	made_until(&made, "start;hold", true, 0, 0, 80);
	made.thread = (struct thread_id){0};
	wait = made_wait(&made, WAIT_MUTEX, 0x4040, owner);
	made_until(&made, "main;first", true, 0, 0, 10);
	made_until(&made, "main;get", false, wait, 10, 30);
	profile = made_end(&made);
	expect_table(
		profile, &filter,
		"  ms    %    ±  thread      how        in function  waited for\n"
		"30.0 37.5 40.3  101 worker  ran        work\n"
		"30.0 37.5 42.7  102 owner   ran        hold\n"
		"20.0 25.0 39.0  100 prog    not known\n"
		"\n"
		"note: the chain goes back in time from the end of 101 worker. It goes on 1 time "
		"to "
		"the\n"
		"      last owner that was seen of a lock, 1 time to what had begun a thread or "
		"program.\n"
		"      What ends the waits that are ‘blocked’ here is not known, or no thread of "
		"this\n"
		"      profile; 'report --wakers' tells more of them.\n");
	profile_free(profile);
}

/* A child of the main thread, which ran from its begin to its end. */
static void made_child(struct made *made, int pid, const char *name, uint64_t from_ms,
		       uint64_t to_ms)
{
	struct profile_thread *thread =
		&made->profile->threads[made_thread(made, pid, pid, name).v];
	struct profile_process *process = &made->profile->processes[thread->process];

	process->parent = 0;
	process->start_ns = thread->start_ns = from_ms * NS_PER_MS;
	process->end_ns = thread->end_ns = to_ms * NS_PER_MS;
	made_until(made, "main;work", true, 0, from_ms, to_ms);
}

/*
 * The main thread waits for one child, and then for another one, which ends a moment later: it is
 * not the one that the first wait was for.
 */
TEST(chain, goes_through_children_one_after_the_other)
{
	struct made made = made_begin();
	struct profile *profile;

	made.profile->meta.arch = profile_intern(made.profile, "x86_64");
	made_until(&made, "main", true, 0, 0, 2);
	made_until(&made, "main;wait4", false, 0, 2, 112);
	made.profile->samples[1].syscall_nr = 61;
	made_child(&made, 200, "first", 2, 100);
	made_child(&made, 201, "second", 101, 110);
	profile = made_end(&made);
	expect_table(
		profile, NULL,
		"  ms    %    ±  thread      how      in function  waited for\n"
		"98.0 87.5 40.3  200 first   ran      work\n"
		" 9.0  8.0 39.5  201 second  ran      work\n"
		" 3.0  2.7 38.5  100 prog    blocked  main         wait4\n"
		" 2.0  1.8 38.1  100 prog    ran      main\n"
		"\n"
		"note: the chain goes back in time from the end of 100 prog. It goes on 2 times to "
		"a child\n"
		"      process that ended, 2 times to what had begun a thread or program. What "
		"ends the\n"
		"      waits that are ‘blocked’ here is not known, or no thread of this profile; "
		"'report\n"
		"      --wakers' tells more of them.\n");
	profile_free(profile);
}

/*
 * prog, the end of the pipeline, ran up to 70; it had waited for gzip up to 65, which was longer
 * than gzip ran. gzip had waited up to 40 for prog to read, and up to 20 for cat. From 30 to 35
 * gzip and prog seem to wait for each other.
 */
TEST(chain, goes_through_pipes)
{
	struct made made = made_begin();
	struct profile *profile;

	made_thread(&made, 200, 200, "cat");
	made_until(&made, "cat", true, 0, 0, 20);
	made_thread(&made, 300, 300, "gzip");
	made_until(&made, "fill", false, made_pipe(&made, "pipe:[1]", "pipe from 200 cat"), 0, 20);
	made_until(&made, "deflate", true, 0, 20, 30);
	made_until(&made, "put", false, made_pipe(&made, "pipe:[2]", "pipe to 100 prog"), 30, 40);
	made_until(&made, "deflate", true, 0, 40, 60);
	made.thread = (struct thread_id){0};
	made_until(&made, "take", false, made_pipe(&made, "pipe:[2]", "pipe from 300 gzip"), 0, 35);
	made_until(&made, "count", true, 0, 35, 40);
	made_until(&made, "take", false, made_pipe(&made, "pipe:[2]", "pipe from 300 gzip"), 40,
		   65);
	made_until(&made, "count", true, 0, 65, 70);
	profile = made_end(&made);
	expect_table(profile, NULL,
		     "  ms    %    ±  thread    how      in function  waited for\n"
		     "30.0 42.9 34.1  300 gzip  ran      deflate\n"
		     "20.0 28.6 33.6  200 cat   ran      cat\n"
		     "10.0 14.3 29.2  100 prog  ran      count\n"
		     " 5.0  7.1 28.3  100 prog  blocked  take         pipe from 300 gzip (fd 0)\n"
		     " 5.0  7.1 26.7  300 gzip  blocked  put          pipe to 100 prog (fd 0)\n"
		     "\n"
		     "note: the chain goes back in time from the end of 100 prog. It goes on 4 "
		     "times to the\n"
		     "      other end of a pipe or socket. What ends the waits that are ‘blocked’ "
		     "here is not\n"
		     "      known, or no thread of this profile; 'report --wakers' tells more of "
		     "them.\n");
	profile_free(profile);
}

/* Two processes may have written: the one that ran when the wait was over did. */
TEST(chain, goes_to_the_writer_that_ran)
{
	const char *reader = "100";
	const struct filter filter = {.threads = {&reader, 1}};
	struct made made = made_begin();
	struct profile *profile;

	made_thread(&made, 200, 200, "one");
	made_until(&made, "one", true, 0, 0, 20);
	made_until(&made, "rest", false, 0, 20, 50);
	made_thread(&made, 300, 300, "two");
	made_until(&made, "two", true, 0, 0, 40);
	made.thread = (struct thread_id){0};
	made_until(&made, "take", false, made_pipe(&made, "pipe:[1]", "pipe from 200 one, 300 two"),
		   0, 40);
	made_until(&made, "take", false,
		   made_pipe(&made, "pipe:[2]", "pipe from 200 one and 2 more"), 40, 45);
	made_until(&made, "take", false,
		   made_pipe(&made, "pipe:[3]", "pipe from 200 one, 400 gone"), 45, 50);
	profile = made_end(&made);
	expect_table(profile, &filter,
		     "  ms    %    ±  thread    how      in function  waited for\n"
		     "40.0 80.0 40.1  300 two   ran      two\n"
		     " 5.0 10.0 38.3  100 prog  blocked  take         pipe from 200 one, 400 gone "
		     "(fd 0)\n"
		     " 5.0 10.0 38.3  100 prog  blocked  take         pipe from 200 one and 2 more "
		     "(fd 0)\n"
		     "\n"
		     "note: the chain goes back in time from the end of 100 prog. It goes on 1 "
		     "time to the other\n"
		     "      end of a pipe or socket. What ends the waits that are ‘blocked’ here "
		     "is not known,\n"
		     "      or no thread of this profile; 'report --wakers' tells more of them.\n");
	profile_free(profile);
}

/* Two children of main: the quick one has ended before, and the slow one ends at 60. */
static struct profile *made_children(bool has_ended, uint64_t step_ns)
{
	struct made made = made_begin();
	struct profile *profile = made.profile;
	struct sample *sample;

	profile->meta.arch = profile_intern(profile, "x86_64");
	made_thread(&made, 200, 200, "quick");
	made_until(&made, "start;quick", true, 0, 5, 20);
	made_thread(&made, 300, 300, "slow");
	made_until(&made, "start;slow", true, 0, 10, 60);
	for (uint32_t i = 1; i <= 2; i++) {
		profile->processes[i].parent = 0;
		profile->processes[i].start_ns = profile->threads[i].start_ns = 5 * i * NS_PER_MS;
	}
	profile->processes[1].end_ns = 20 * NS_PER_MS;
	profile->processes[2].end_ns = has_ended ? 60 * NS_PER_MS : 0;
	made.thread = (struct thread_id){0};
	made_until(&made, "main", true, 0, 0, 10);
	for (uint64_t at = 10 * NS_PER_MS; at < 60 * NS_PER_MS; at += step_ns) {
		made_until_ns(&made, "main;wait", false, 0, at, at + step_ns);
		sample = &profile->samples[profile->nr_samples - 1];
		sample->syscall_nr = NR_WAIT4;
	}
	return made_end(&made);
}

/*
 * That the child ends later does not matter: main waited for it at that moment, too; however many
 * samples of that wait there are.
 */
TEST(chain, goes_to_a_child_that_ends_later)
{
	const struct filter filter = {.to_ns = 35 * NS_PER_MS};

	for (int i = 0; i < 4; i++) {
		struct profile *profile = made_children(i & 1, NS_PER_MS / (i & 2 ? 20 : 1));

		expect_table(profile, &filter,
			     "  ms    %    ±  thread    how  in function  waited for\n"
			     "25.0 71.4 44.2  300 slow  ran  slow\n"
			     "10.0 28.6 44.2  100 prog  ran  main\n"
			     "\n"
			     "note: the chain goes back in time from the end of 100 prog. It goes "
			     "on 1 time to a child\n"
			     "      process that ended, 1 time to what had begun a thread or "
			     "program. What ends the\n"
			     "      waits that are ‘blocked’ here is not known, or no thread of "
			     "this profile; 'report\n"
			     "      --wakers' tells more of them.\n");
		profile_free(profile);
	}
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Made-up messages, and the samples that are then in the file. */
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/index_set.h"
#include "tests/unit/made_collector.h"
#include "tests/unit/unit.h"

#define MS UINT64_C(1000000)

static int set_up(void **state)
{
	struct made_collector *made = xcalloc(1, sizeof(*made));

	made_collector_start(made, NULL);
	made_publish(made, made_process(made, MADE_PID));
	made_publish(made, made_thread(made, MADE_PID));
	*state = made;
	return 0;
}

static int tear_down(void **state)
{
	made_collector_free(*state);
	free(*state);
	return 0;
}

/* Times are those of the file, rounded down to milliseconds. */
static void assert_sample(const struct made_collector *made, size_t index, enum sample_kind kind,
			  uint32_t nr, uint64_t cpu_ms, uint64_t blocked_ms)
{
	const struct sample *sample;

	assert_true(index < made->read->nr_samples);
	sample = &made->read->samples[index];
	assert_int_equal(sample->kind, kind);
	assert_int_equal(sample->nr, nr);
	assert_int_equal(sample->cpu_ns / MS, cpu_ms);
	assert_int_equal(sample->blocked_ns / MS, blocked_ms);
}

static void sleep_on(struct made_collector *made, uint64_t until_ns)
{
	struct message *message = message_new(MESSAGE_SAMPLE, until_ns);

	message->body.sample.slept_sure_ns = until_ns;
	message->body.sample.slept_until_ns = until_ns;
	made_publish(made, message);
}

static void end(struct made_collector *made, const struct account_clocks *clocks)
{
	made_publish(made, made_thread_end(0, 0, 90 * MS, clocks));
	made_publish(made, made_process_end(0, 90 * MS));
	made_collector_finish(made);
}

TEST_WITH(struct made_collector *made, collector, time_goes_to_stacks_of_its_kind)
{
	made_publish(made, made_sample(0, SEEN_BLOCKED, 10 * MS, 2 * MS));
	made_publish(made, made_sample(0, SEEN_RUNNING, 20 * MS, 12 * MS));
	end(made, &(struct account_clocks){.time_ns = 20 * MS, .cpu_ns = 12 * MS});
	assert_int_equal(made->read->nr_samples, 2);
	assert_sample(made, 0, SAMPLE_BLOCKED, 1, 0, 8);
	assert_sample(made, 1, SAMPLE_RUNNING, 1, 12, 0);
	assert_int_equal(made->result.cpu_ns, 12 * MS);
	assert_int_equal(made->result.nr_samples, 2);
	assert_int_equal(made->result.state, COLLECTOR_RUNNING);
}

/* When it fell asleep is a guess; that it slept on is none, and no other observation. */
TEST_WITH(struct made_collector *made, collector, known_time_of_a_sleep_is_a_sample_of_its_own)
{
	made_publish(made, made_sample(0, SEEN_BLOCKED, 10 * MS, 0));
	sleep_on(made, 30 * MS);
	sleep_on(made, 50 * MS);
	end(made, &(struct account_clocks){.time_ns = 50 * MS});
	assert_int_equal(made->read->nr_samples, 2);
	assert_sample(made, 0, SAMPLE_BLOCKED, 1, 0, 10);
	assert_sample(made, 1, SAMPLE_BLOCKED, 0, 0, 40);
	assert_int_equal(made->result.nr_samples, 1);
}

static void sleeps_in_mean(struct made_collector *made, uint64_t sure_ns, uint64_t until_ns)
{
	struct message *message = message_new(MESSAGE_SAMPLE, until_ns);

	message->body.sample.slept_sure_ns = sure_ns;
	message->body.sample.slept_until_ns = until_ns;
	made_publish(made, message);
}

TEST_WITH(struct made_collector *made, collector, guessed_end_of_a_sleep_is_an_observation)
{
	made_publish(made, made_sample(0, SEEN_BLOCKED, 10 * MS, 0));
	sleeps_in_mean(made, 15 * MS, 40 * MS);
	end(made, &(struct account_clocks){.time_ns = 50 * MS});
	assert_int_equal(made->read->nr_samples, 4);
	assert_sample(made, 0, SAMPLE_BLOCKED, 1, 0, 10);
	assert_sample(made, 1, SAMPLE_BLOCKED, 0, 0, 5);
	assert_sample(made, 2, SAMPLE_BLOCKED, 1, 0, 25);
	assert_sample(made, 3, SAMPLE_UNATTRIBUTED, 0, 0, 10);
}

static struct message *asleep_after_wakes(uint64_t time_ns, uint64_t pcount)
{
	struct message *message = made_sample(0, SEEN_BLOCKED, time_ns, 0);

	message->body.sample.pcount = pcount;
	return message;
}

/* Having woken once it slept there and nowhere else; having woken twice, perhaps elsewhere. */
TEST_WITH(struct made_collector *made, collector, time_of_two_sleeps_in_one_place_is_known)
{
	made_publish(made, asleep_after_wakes(10 * MS, 7));
	made_publish(made, asleep_after_wakes(30 * MS, 8));
	made_publish(made, asleep_after_wakes(45 * MS, 10));
	end(made, &(struct account_clocks){.time_ns = 45 * MS});
	assert_int_equal(made->read->nr_samples, 3);
	assert_sample(made, 0, SAMPLE_BLOCKED, 1, 0, 10);
	assert_sample(made, 1, SAMPLE_BLOCKED, 0, 0, 20);
	assert_sample(made, 2, SAMPLE_BLOCKED, 1, 0, 15);
}

static struct message *asleep_in_kernel(uint64_t time_ns, uint64_t pcount, const char *text)
{
	struct message *message = asleep_after_wakes(time_ns, pcount);

	snapshot_set_kernel_stack(message->body.sample.snapshot, text, strlen(text));
	return message;
}

/* The names of a sample's functions of the kernel, from the outermost one on. */
static void assert_kernel(const struct made_collector *made, size_t index, const char *expected)
{
	const struct profile *profile = made->read;
	struct stack_id at = profile->samples[index].kernel;
	char found[256] = "";

	for (; at.v; at = stack_trie_parent(profile->stacks, at)) {
		struct frame_id frame = stack_trie_frame(profile->stacks, at);
		char rest[sizeof(found)];

		strcpy(rest, found);
		for (size_t i = 0; i < profile->jit.nr_names; i++) {
			if (profile->jit.names[i].frame.v == frame.v)
				snprintf(found, sizeof(found), "%s;%.100s",
					 profile_str(profile, profile->jit.names[i].name), rest);
		}
	}
	assert_string_equal(found, expected);
}

/* The program's stack alone tells whether it sleeps where it slept before. */
TEST_WITH(struct made_collector *made, collector, a_sleep_has_the_kernels_stack_beside_its_own)
{
	made_publish(made, asleep_in_kernel(10 * MS, 7,
					    "[<0>] pipe_read+0x1/0x2\n[<0>] ksys_read+0x1/0x2\n"
					    "[<0>] do_syscall_64+0x1/0x2\n"));
	sleep_on(made, 20 * MS);
	made_publish(made, asleep_in_kernel(40 * MS, 8, "[<0>] ksys_read+0x1/0x2\n"));
	made_publish(made, made_sample(0, SEEN_RUNNING, 50 * MS, 10 * MS));
	made_publish(made, asleep_in_kernel(60 * MS, 9, "futex_wait"));
	end(made, &(struct account_clocks){.time_ns = 60 * MS, .cpu_ns = 10 * MS});
	assert_int_equal(made->read->nr_samples, 5);
	assert_sample(made, 0, SAMPLE_BLOCKED, 1, 0, 10);
	assert_kernel(made, 0, "ksys_read;pipe_read;");
	assert_sample(made, 1, SAMPLE_BLOCKED, 0, 0, 10);
	assert_kernel(made, 1, "ksys_read;pipe_read;");
	assert_sample(made, 2, SAMPLE_BLOCKED, 0, 0, 20);
	assert_kernel(made, 2, "ksys_read;");
	assert_kernel(made, 3, "");
	assert_kernel(made, 4, "futex_wait;");
	assert_int_equal(made->read->jit.nr_names, 3);
}

/* It sleeps on another stack since, which is not known. */
TEST_WITH(struct made_collector *made, collector,
	  a_dropped_sleep_gives_none_of_its_time_to_the_one_before)
{
	struct message *dropped = made_sample(0, SEEN_BLOCKED, 20 * MS, 5 * MS);

	free(dropped->body.sample.snapshot);
	dropped->body.sample.snapshot = NULL;
	made_publish(made, made_sample(0, SEEN_BLOCKED, 10 * MS, 0));
	made_publish(made, dropped);
	sleep_on(made, 50 * MS);
	end(made, &(struct account_clocks){.time_ns = 50 * MS, .cpu_ns = 5 * MS});
	assert_int_equal(made->read->nr_samples, 2);
	assert_sample(made, 0, SAMPLE_BLOCKED, 1, 0, 10);
	assert_sample(made, 1, SAMPLE_UNATTRIBUTED, 0, 5, 35);
}

TEST_WITH(struct made_collector *made, collector, time_up_to_the_end_goes_to_the_last_run)
{
	made_publish(made, made_sample(0, SEEN_RUNNING, 10 * MS, 10 * MS));
	end(made, &(struct account_clocks){.time_ns = 12 * MS, .cpu_ns = 12 * MS});
	assert_int_equal(made->read->nr_samples, 2);
	assert_sample(made, 0, SAMPLE_RUNNING, 1, 10, 0);
	assert_sample(made, 1, SAMPLE_RUNNING, 0, 2, 0);
}

/* Stops may be left out, so that samples are as far apart as that. */
TEST_WITH(struct made_collector *made, collector, rare_samples_are_rare_at_the_end_too)
{
	made_publish(made, made_sample(0, SEEN_RUNNING, 10 * MS, 10 * MS));
	made_publish(made, made_sample(0, SEEN_RUNNING, 20 * MS, 20 * MS));
	end(made, &(struct account_clocks){.time_ns = 50 * MS, .cpu_ns = 50 * MS});
	assert_int_equal(made->read->nr_samples, 3);
	assert_sample(made, 2, SAMPLE_RUNNING, 0, 30, 0);
}

TEST_WITH(struct made_collector *made, collector, longer_time_up_to_the_end_is_unattributed)
{
	made_publish(made, made_sample(0, SEEN_RUNNING, 5 * MS, 5 * MS));
	made_publish(made, made_sample(0, SEEN_RUNNING, 10 * MS, 10 * MS));
	end(made, &(struct account_clocks){.time_ns = 50 * MS, .cpu_ns = 50 * MS});
	assert_int_equal(made->read->nr_samples, 3);
	assert_sample(made, 2, SAMPLE_UNATTRIBUTED, 0, 40, 0);
	assert_int_equal(profile_counter(made->profile, "unattributed_cpu_ns"), 40 * MS);
}

TEST_WITH(struct made_collector *made, collector, vanished_thread_keeps_its_samples)
{
	made_publish(made, made_sample(0, SEEN_RUNNING, 10 * MS, 8 * MS));
	end(made, NULL);
	assert_int_equal(made->read->nr_samples, 1);
	assert_sample(made, 0, SAMPLE_RUNNING, 1, 8, 0);
	assert_int_equal(made->result.cpu_ns, 8 * MS);
}

static void publish_rest(struct made_collector *made, uint64_t time_ns, uint64_t cpu_ns)
{
	struct message *message = message_new(MESSAGE_PROCESS_REST, time_ns);

	message->body.process.cpu_ns = cpu_ns;
	made_publish(made, message);
}

TEST_WITH(struct made_collector *made, collector, rest_of_a_process_is_its_leaders)
{
	made_publish(made, made_thread(made, MADE_PID + 1));
	made_publish(made, made_sample(0, SEEN_RUNNING, 10 * MS, 8 * MS));
	made_publish(made, made_sample(1, SEEN_RUNNING, 10 * MS, 7 * MS));
	publish_rest(made, 11 * MS, 30 * MS);
	made_publish(made, made_thread_end(1, 0, 12 * MS, NULL));
	end(made, NULL);
	assert_int_equal(made->read->nr_samples, 3);
	assert_sample(made, 0, SAMPLE_RUNNING, 1, 8, 0);
	assert_sample(made, 1, SAMPLE_UNATTRIBUTED, 0, 30, 0);
	assert_int_equal(made->read->samples[1].thread.v, 0);
	assert_sample(made, 2, SAMPLE_RUNNING, 1, 7, 0);
	assert_int_equal(made->result.cpu_ns, 45 * MS);
	assert_int_equal(made->result.nr_samples, 2);
}

TEST_WITH(struct made_collector *made, collector, rest_of_a_process_goes_to_an_ended_leader)
{
	made_publish(made, made_thread_end(0, 0, 10 * MS, NULL));
	publish_rest(made, 11 * MS, 30 * MS);
	made_publish(made, made_process_end(0, 12 * MS));
	made_collector_finish(made);
	assert_int_equal(made->read->nr_samples, 1);
	assert_sample(made, 0, SAMPLE_UNATTRIBUTED, 0, 30, 0);
	assert_int_equal(made->read->nr_threads, 1);
}

TEST_WITH(struct made_collector *made, collector, rest_of_a_process_makes_a_thread_row)
{
	struct message *rest = message_new(MESSAGE_PROCESS_REST, 11 * MS);

	made_publish(made, made_process(made, MADE_PID + 7));
	rest->body.process.serial = 1;
	rest->body.process.cpu_ns = 5 * MS;
	made_publish(made, rest);
	made_publish(made, made_process_end(1, 12 * MS));
	end(made, NULL);
	assert_int_equal(made->read->nr_samples, 1);
	assert_int_equal(made->read->samples[0].thread.v, 1);
	assert_int_equal(made->read->threads[1].tid, MADE_PID + 7);
	assert_int_equal(made->read->threads[1].process, 1);
}

/* The parent's row keeps what it had at its end. */
TEST_WITH(struct made_collector *made, collector, an_ended_process_is_still_a_parent)
{
	struct message *child;

	made_publish(made, made_thread_end(0, 0, 10 * MS, NULL));
	made_publish(made, made_process_end(0, 10 * MS));
	child = made_process(made, MADE_PID + 1);
	child->body.process.parent = 0;
	child->body.process.forked = true;
	made_publish(made, child);
	made_collector_finish(made);
	assert_int_equal(made->read->nr_processes, 2);
	assert_int_equal(made->read->processes[1].parent, 0);
	assert_int_equal(made->read->processes[1].pid, MADE_PID + 1);
}

static void publish_call(struct made_collector *made, uint32_t thread, uint64_t time_ns, int nr)
{
	struct message *message = made_sample(thread, SEEN_BLOCKED, time_ns, 0);

	message->body.sample.snapshot->syscall_nr = nr;
	made_publish(made, message);
}

/* As after SIGSTOP and SIGCONT. Of a sleep that was not seen before it is not known. */
TEST_WITH(struct made_collector *made, collector, a_restarted_call_is_the_one_before)
{
	made_publish(made, made_thread(made, MADE_PID + 1));
	publish_call(made, 0, 10 * MS, SYS_clock_nanosleep);
	publish_call(made, 0, 20 * MS, SYS_restart_syscall);
	publish_call(made, 0, 30 * MS, SYS_restart_syscall);
	publish_call(made, 1, 30 * MS, SYS_restart_syscall);
	end(made, NULL);
	assert_true(made->read->nr_samples >= 4);
	for (size_t i = 0; i < made->read->nr_samples; i++) {
		const struct sample *sample = &made->read->samples[i];

		if (sample->kind == SAMPLE_BLOCKED)
			assert_int_equal(sample->syscall_nr, sample->thread.v
								     ? SYS_restart_syscall
								     : SYS_clock_nanosleep);
	}
}

TEST_WITH(struct made_collector *made, collector, a_mark_and_a_cut_are_in_order)
{
	struct profile *start = NULL;
	struct collector_cut cut = {.look = NULL};
	uint64_t nr_bytes;
	char path[64];

	made_publish(made, made_sample(0, SEEN_RUNNING, clock_monotonic_ns(), MS));
	collector_mark(made->collector, "before", 0);
	collector_cut(made->collector, &cut);
	nr_bytes = collector_cut_wait(&cut);
	collector_mark(made->collector, "after", 0);
	made_publish(made, made_sample(0, SEEN_RUNNING, clock_monotonic_ns(), 2 * MS));
	end(made, NULL);
	assert_int_equal(made->read->nr_samples, 2);
	assert_int_equal(made->read->nr_marks, 2);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", made->file);
	assert_int_equal(store_read_path_start(path, nr_bytes, &start, NULL), 0);
	assert_int_equal(start->nr_samples, 1);
	assert_int_equal(start->nr_marks, 1);
	assert_string_equal(profile_str(start, start->marks[0].text), "before");
	profile_free(start);
}

TEST_WITH(struct made_collector *made, collector, progress_counts_living_and_blocked_threads)
{
	struct collector_progress progress;

	made_publish(made, made_thread(made, MADE_PID + 1));
	made_publish(made, made_sample(0, SEEN_BLOCKED, 10 * MS, 0));
	made_publish(made, made_sample(1, SEEN_RUNNING, 10 * MS, MS));
	made_publish(made, made_thread_end(1, 0, 12 * MS, NULL));
	made_cut(made);
	made_cut(made); /* the first cut's progress is published after this */
	progress = collector_progress(made->collector);
	assert_int_equal(progress.nr_samples, 2);
	assert_int_equal(progress.nr_threads, 1);
	assert_int_equal(progress.nr_blocked, 1);
	end(made, NULL);
}

static void count(void *context)
{
	atomic_fetch_add((_Atomic int *)context, 1);
}

static void assert_ends_with(struct collector_options *options, enum collector_state state)
{
	struct made_collector made;
	_Atomic int nr_wakes = 0;

	options->wake = count;
	options->context = &nr_wakes;
	made_collector_start(&made, options);
	made_publish(&made, made_process(&made, MADE_PID));
	made_publish(&made, made_thread(&made, MADE_PID));
	made_publish(&made, made_sample(0, SEEN_RUNNING, MS, MS));
	made_cut(&made);
	made_cut(&made);
	assert_int_equal(collector_state(made.collector), COLLECTOR_RUNNING);
	for (uint64_t i = 2; i < 1000; i++)
		made_publish(&made,
			     made_sample(0, SEEN_RUNNING, i * MS, i * MS - scramble_u64(i) % MS));
	made_cut(&made);
	made_cut(&made);
	assert_int_equal(collector_state(made.collector), state);
	assert_int_equal(nr_wakes, 1);
	made_collector_finish(&made);
	assert_int_equal(made.result.state, state);
	assert_int_equal(nr_wakes, 1);
	/* All that was published is in it. */
	assert_int_equal(made.result.nr_samples, 999);
	assert_int_equal(made.read->nr_samples, 999);
	made_collector_free(&made);
}

TEST(collector, wakes_when_there_are_enough_samples)
{
	assert_ends_with(&(struct collector_options){.max_samples = 500},
			 COLLECTOR_SAMPLES_REACHED);
}

TEST(collector, wakes_when_the_file_is_large_enough)
{
	assert_ends_with(&(struct collector_options){.max_bytes = 1500}, COLLECTOR_SIZE_REACHED);
}

TEST(collector, wakes_when_it_cannot_write)
{
	struct collector_options options = {.wake = count};
	struct made_collector made;
	_Atomic int nr_wakes = 0;
	struct collector_cut cut = {.look = NULL};
	int unwritable;

	options.context = &nr_wakes;
	made_collector_start(&made, &options);
	unwritable = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(dup3(unwritable, made.file, O_CLOEXEC) >= 0);
	close(unwritable);
	made_publish(&made, made_process(&made, MADE_PID));
	collector_cut(made.collector, &cut);
	assert_int_equal(collector_cut_wait(&cut), 0);
	assert_int_equal(collector_state(made.collector), COLLECTOR_WRITE_FAILED);
	assert_int_equal(nr_wakes, 1);
	collector_finish(made.collector, &made.result, NULL);
	assert_int_equal(made.result.state, COLLECTOR_WRITE_FAILED);
	made_collector_free(&made);
}

struct looked {
	uint64_t nr_samples, cpu_ns;
};

static void look(void *context, const struct profile *profile)
{
	struct looked *looked = context;

	for (size_t i = 0; i < profile->nr_samples; i++) {
		looked->nr_samples += profile->samples[i].nr;
		looked->cpu_ns += profile->samples[i].cpu_ns;
	}
}

TEST(collector, look_sees_each_sample_once)
{
	struct looked looked = {0};
	struct collector_options options = {.look = look, .look_context = &looked};
	struct made_collector made;

	made_collector_start(&made, &options);
	made_publish(&made, made_process(&made, MADE_PID));
	made_publish(&made, made_thread(&made, MADE_PID));
	made_publish(&made, made_sample(0, SEEN_RUNNING, 10 * MS, 4 * MS));
	made_cut(&made);
	assert_int_equal(looked.nr_samples, 1);
	made_cut(&made);
	made_publish(&made, made_sample(0, SEEN_RUNNING, 20 * MS, 9 * MS));
	end(&made, &(struct account_clocks){.time_ns = 20 * MS, .cpu_ns = 9 * MS});
	assert_int_equal(looked.nr_samples, 2);
	assert_int_equal(looked.cpu_ns, 9 * MS);
	made_collector_free(&made);
}

TEST_WITH(struct made_collector *made, collector, takes_no_more_than_fits)
{
	assert_true(collector_has_room(made->collector, 1024));
	assert_false(collector_has_room(made->collector, COLLECTOR_QUEUE_MAX_BYTES + 1));
	assert_false(collector_is_behind(made->collector));
	made_collector_finish(made);
	assert_true(profile_counter(made->profile, "queue_bytes_max") > 0);
}

static void note_marks(void *context, const struct profile *profile)
{
	size_t *nr_marks = context;

	assert_int_equal(profile->nr_samples, 0); /* they were written, or looked at */
	*nr_marks = profile->nr_marks;
}

TEST_WITH(struct made_collector *made, collector, a_cut_can_be_looked_at)
{
	size_t nr_marks = 0;
	struct collector_cut cut = {.look = note_marks, .context = &nr_marks};

	made_publish(made, made_sample(0, SEEN_RUNNING, clock_monotonic_ns(), MS));
	collector_mark(made->collector, "before", 0);
	collector_cut(made->collector, &cut);
	collector_mark(made->collector, "after", 0);
	assert_true(collector_cut_wait(&cut) > 1);
	assert_int_equal(nr_marks, 1);
	end(made, NULL);
}

TEST(collector, without_a_file_all_can_be_looked_at)
{
	struct looked looked = {0};
	struct collector_options options = {.profile = profile_new(),
					    .period_ns = MADE_PERIOD_NS,
					    .max_depth = 100,
					    .look = look,
					    .look_context = &looked};
	struct made_collector made = {.collector = collector_start(&options, NULL)};
	struct collector_cut cut = {.look = NULL};

	assert_non_null(made.collector);
	made_publish(&made, made_process(&made, MADE_PID));
	made_publish(&made, made_thread(&made, MADE_PID));
	made_publish(&made, made_sample(0, SEEN_RUNNING, clock_monotonic_ns(), MS));
	made_publish(&made, made_sample(0, SEEN_RUNNING, clock_monotonic_ns(), 2 * MS));
	collector_cut(made.collector, &cut);
	assert_int_equal(collector_cut_wait(&cut), 1);
	assert_int_equal(looked.nr_samples, 2);
	collector_finish(made.collector, &made.result, NULL);
	assert_int_equal(made.result.nr_samples, 2);
	collector_free(made.collector);
	profile_free(options.profile);
}

/* The thread waits for the end of the next one, which is not known yet. */
static void wait_for_next(struct made_collector *made, uint64_t time_ns)
{
	struct message *message = made_sample(0, SEEN_BLOCKED, time_ns, 0);
	pid_t next = MADE_PID + (pid_t)made->nr_threads;

	message->body.sample.wait = (struct seen_wait){
		.is_known = true, .kind = WAIT_THREAD, .number = 0x7000, .owner = next};
	made_publish(made, message);
	made_publish(made, made_thread(made, next));
}

/* Before the waiting thread is sampled again, one thread ends; and one lives on. */
TEST_WITH(struct made_collector *made, collector, a_thread_waits_for_one_that_is_met_later)
{
	const struct profile_waits *waits;

	wait_for_next(made, 10 * MS);
	made_publish(made, made_thread_end(1, 0, 20 * MS, NULL));
	made_publish(made, made_sample(0, SEEN_RUNNING, 30 * MS, 1 * MS));
	wait_for_next(made, 40 * MS);
	made_publish(made, made_sample(0, SEEN_RUNNING, 50 * MS, 2 * MS));
	made_publish(made, made_thread_end(2, 0, 60 * MS, NULL));
	end(made, NULL);
	waits = profile_waits(made->read);
	assert_sample(made, 0, SAMPLE_BLOCKED, 1, 0, 10);
	for (uint32_t i = 0, nr = 0; i < made->read->nr_samples; i++) {
		const struct sample *sample = &made->read->samples[i];

		if (sample->kind != SAMPLE_BLOCKED)
			continue;
		assert_int_equal(waits->rows[sample->wait - 1].kind, WAIT_THREAD);
		assert_int_equal(waits->rows[sample->wait - 1].owner.v, ++nr);
	}
}

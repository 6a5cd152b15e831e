// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "base/sink.h"
#include "calltree/wakers.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"
#include "view/style.h"
#include "view/wakers_text.h"

#define NS_PER_MS     UINT64_C(1000000)
#define NR_NANOSLEEP  35 /* of x86-64 */
#define NR_WAIT4      61
#define LOCK_ADDRESS  0x4040
#define QUEUE_ADDRESS 0x4080

static uint32_t made_wait(struct made *made, enum wait_kind kind, uint64_t number, const char *name,
			  struct thread_id owner, const char *peer)
{
	const struct profile_wait row = {.process = made->profile->threads[made->thread.v].process,
					 .kind = (uint8_t)kind,
					 .number = number,
					 .place = WAIT_NO_PLACE,
					 .name = profile_intern(made->profile, name),
					 .peer = profile_intern(made->profile, peer),
					 .owner = owner};

	return profile_waits_intern(profile_waits(made->profile), &row);
}

/* The current thread was blocked from `from_ms` to `to_ms`. */
static struct sample *made_sleep(struct made *made, const char *stack, uint32_t wait,
				 uint64_t from_ms, uint64_t to_ms)
{
	struct sample *sample = made_sample(made, stack, 0);

	sample->kind = SAMPLE_BLOCKED;
	sample->wait = wait;
	sample->time_ns = to_ms * NS_PER_MS;
	sample->blocked_ns = (to_ms - from_ms) * NS_PER_MS;
	return sample;
}

static void expect_table(const struct profile *profile, const char *expected)
{
	const struct view view = {.columns = 90};
	struct weighed_fixture weighed = weighed_new(profile, NULL, METRIC_BLOCKED);
	struct wakers *wakers = wakers_new(weighed.selection);
	struct sink sink = SINK_MEMORY;

	wakers_print_text(wakers, 0, &view, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	wakers_free(wakers);
	weighed_free(&weighed);
}

/* Owners, ends of threads, the other ends of pipes, children and clocks need no probes. */
TEST(wakers, are_known_from_what_was_waited_for)
{
	struct made made = made_begin();
	struct thread_id first = made.thread, second;
	uint32_t by_first, by_second;
	char name[] = "queue_lock";
	struct profile *profile;

	made.profile->meta.arch = profile_intern(made.profile, "x86_64");
	made_sample(&made, "main;store", 40)->time_ns = 40 * NS_PER_MS;
	made_sleep(&made, "main;libc.so.6!pthread_cond_wait",
		   made_wait(&made, WAIT_FUTEX, QUEUE_ADDRESS, "[heap]", THREAD_NONE, ""), 40, 45);
	second = made_thread(&made, 100, 101, "worker");
	by_first = made_wait(&made, WAIT_MUTEX, LOCK_ADDRESS, "", first, "");
	by_second = made_wait(&made, WAIT_MUTEX, LOCK_ADDRESS, "", second, "");
	profile_waits(made.profile)->rows[1].place = profile_waits(made.profile)->rows[2].place =
		made_frame(made.profile, name);
	made_sleep(&made, "start;get;libc.so.6!pthread_mutex_lock", by_first, 0, 30);
	made_thread(&made, 100, 102, "other");
	made_sleep(&made, "start;get;libc.so.6!pthread_mutex_lock", by_second, 0, 10);
	made_sleep(&made, "start;libc.so.6!read",
		   made_wait(&made, WAIT_FILE, 3, "pipe:[7]", THREAD_NONE, "pipe from 9 gzip"), 10,
		   18);
	made_sleep(&made, "start;libc.so.6!pthread_join",
		   made_wait(&made, WAIT_THREAD, 0x7000, "", second, ""), 18, 24);
	made_sleep(&made, "start;libc.so.6!nanosleep", 0, 24, 28)->syscall_nr = NR_NANOSLEEP;
	made_sleep(&made, "start;libc.so.6!wait4", 0, 28, 30)->syscall_nr = NR_WAIT4;
	profile = made_end(&made);
	expect_table(profile,
		     "blocked ms    %    ±  wait, ended by            how           in function\n"
		     "      40.0 61.5 35.2  queue_lock                mutex\n"
		     "      30.0 46.2 36.5    100 prog                had the lock  store\n"
		     "      10.0 15.4 31.2    101 worker              had the lock\n"
		     "       8.0 12.3 30.3  pipe from 9 gzip (fd 3)\n"
		     "       8.0 12.3 30.3    pipe from 9 gzip        other end\n"
		     "       6.0  9.2 29.3  end of thread 101 worker  join\n"
		     "       6.0  9.2 29.3    101 worker              ended\n"
		     "       5.0  7.7 28.8  0x4080 [heap]             cond\n"
		     "       5.0  7.7 28.8    [unknown]\n"
		     "       4.0  6.2 28.2  nanosleep\n"
		     "       4.0  6.2 28.2    [the clock]             time was up\n"
		     "       2.0  3.1 26.9  wait4\n"
		     "       2.0  3.1 26.9    [a child process]       child\n"
		     "\n"
		     "note: 7.7% of the time was ended by something that is not known; 'had the "
		     "lock' is the\n"
		     "      last owner that was seen, which another thread may have followed\n");
	profile_free(profile);
}

static void expect_how(struct made *made, int syscall_nr, uint32_t wait, enum waker_how how)
{
	struct profile *profile;
	struct weighed_fixture weighed;
	struct wakers *wakers;

	made->profile->meta.arch = profile_intern(made->profile, "x86_64");
	made_sleep(made, "main", wait, 0, 10)->syscall_nr = (int16_t)syscall_nr;
	profile = made_end(made);
	weighed = weighed_new(profile, NULL, METRIC_BLOCKED);
	wakers = wakers_new(weighed.selection);
	assert_int_equal(wakers->nr, 1);
	assert_int_equal(wakers->rows[0].how, how);
	wakers_free(wakers);
	weighed_free(&weighed);
	profile_free(profile);
}

static void expect_how_of_file(int syscall_nr, const char *name, enum waker_how how)
{
	struct made made = made_begin();

	expect_how(&made, syscall_nr, made_wait(&made, WAIT_FILE, 3, name, THREAD_NONE, ""), how);
}

/* Timers, signals, and children that have the memory of their parent. */
TEST(wakers, are_known_from_the_call)
{
	enum { READ, POLL = 7, PAUSE = 34, VFORK = 58, SIGSUSPEND = 130 };
	struct made paused = made_begin(), suspended = made_begin(), spawns = made_begin();

	expect_how(&paused, PAUSE, 0, WAKER_SIGNAL);
	expect_how(&suspended, SIGSUSPEND, 0, WAKER_SIGNAL);
	expect_how(&spawns, VFORK, 0, WAKER_CHILD);
	expect_how_of_file(READ, "anon_inode:[timerfd]", WAKER_TIME);
	expect_how_of_file(POLL, "anon_inode:[timerfd]", WAKER_TIME);
	expect_how_of_file(READ, "anon_inode:[signalfd]", WAKER_SIGNAL);
	expect_how_of_file(POLL, "anon_inode:[signalfd]", WAKER_UNKNOWN);
	expect_how_of_file(READ, "anon_inode:[eventfd]", WAKER_UNKNOWN);
}

/* A wait of `made.thread`, in which a sample has seen it at 30 ms, up to 40 ms. */
static void expect_noted(uint64_t from_ms, uint64_t to_ms, bool is_known)
{
	struct made made = made_begin();
	struct thread_id waiter = made.thread, waker = made_thread(&made, 100, 101, "producer");
	char put[] = "put";
	struct profile *profile;
	struct weighed_fixture weighed;
	struct wakers *wakers;

	made.thread = waiter;
	made_sleep(&made, "main;get",
		   made_wait(&made, WAIT_FUTEX, QUEUE_ADDRESS, "[heap]", THREAD_NONE, ""), 20, 30);
	profile_add_wake(made.profile,
			 &(struct profile_wake){.thread = waiter.v,
						.waker = waker.v,
						.from_ns = from_ms * NS_PER_MS,
						.to_ns = to_ms * NS_PER_MS,
						.where = made_frame(made.profile, put)});
	profile = made_end(&made);
	weighed = weighed_new(profile, NULL, METRIC_BLOCKED);
	wakers = wakers_new(weighed.selection);
	assert_int_equal(wakers->nr, 1);
	assert_int_equal(wakers->rows[0].how, is_known ? WAKER_WAKE : WAKER_UNKNOWN);
	if (is_known) {
		assert_int_equal(wakers->rows[0].thread, waker.v);
		assert_true(wakers->rows[0].label != WAKER_NO_LABEL);
	}
	wakers_free(wakers);
	weighed_free(&weighed);
	profile_free(profile);
}

TEST(wakers, are_those_that_were_noted)
{
	expect_noted(10, 40, true);
	expect_noted(30, 31, true);
	expect_noted(10, 29, false);
	expect_noted(31, 40, false);
}

/* A wait that was to end by itself at 40 ms; the thread was seen running at `ran_ms`. */
static void expect_time_out(uint64_t ran_ms, enum waker_how how)
{
	struct made made = made_begin();
	struct profile *profile;
	struct weighed_fixture weighed;
	struct wakers *wakers;

	made_sleep(&made, "main;get",
		   made_wait(&made, WAIT_FUTEX, QUEUE_ADDRESS, "[heap]", THREAD_NONE, ""), 20, 30);
	made_sample(&made, "main;work", 1)->time_ns = ran_ms * NS_PER_MS;
	profile_add_wake(made.profile, &(struct profile_wake){.thread = made.thread.v,
							      .waker = made.thread.v,
							      .from_ns = 20 * NS_PER_MS,
							      .to_ns = 40 * NS_PER_MS,
							      .where = {UINT32_MAX}});
	profile = made_end(&made);
	weighed = weighed_new(profile, NULL, METRIC_BLOCKED);
	wakers = wakers_new(weighed.selection);
	assert_int_equal(wakers->nr, 1);
	assert_int_equal(wakers->rows[0].how, how);
	assert_int_equal(wakers->rows[0].thread, THREAD_NONE.v);
	wakers_free(wakers);
	weighed_free(&weighed);
	profile_free(profile);
}

TEST(wakers, are_none_once_the_time_is_up)
{
	expect_time_out(41, WAKER_TIME);
	expect_time_out(39, WAKER_UNKNOWN);
}

/* The main thread waits up to some moment from 30 to 40 ms for the end of a child. */
static struct made made_wait_for_child(void)
{
	struct made made = made_begin();

	made.profile->meta.arch = profile_intern(made.profile, "x86_64");
	made_sleep(&made, "main;libc.so.6!wait4", 0, 0, 10)->syscall_nr = NR_WAIT4;
	*made_sleep(&made, "main;libc.so.6!wait4", 0, 10, 30) = (struct sample){
		.time_ns = 30 * NS_PER_MS,
		.blocked_ns = 20 * NS_PER_MS,
		.stack = made.profile->samples[0].stack,
		.syscall_nr = NR_WAIT4,
		.kind = SAMPLE_BLOCKED,
		.end = STACK_END_ROOT,
	};
	made_sample(&made, "main;spawn", 4)->time_ns = 40 * NS_PER_MS;
	return made;
}

static struct profile_process *made_child(struct made *made, int pid, const char *name,
					  uint64_t from_ms, uint64_t to_ms)
{
	struct thread_id child = made_thread(made, pid, pid, name);
	struct profile_process *row =
		&made->profile->processes[made->profile->threads[child.v].process];

	row->parent = 0;
	row->start_ns = from_ms * NS_PER_MS;
	row->end_ns = to_ms * NS_PER_MS;
	return row;
}

static void expect_child_of(struct made *made, uint64_t blocked_ms, const char *name)
{
	struct profile *profile = made_end(made);
	struct weighed_fixture weighed = weighed_new(profile, NULL, METRIC_BLOCKED);
	struct wakers *wakers = wakers_new(weighed.selection);

	assert_int_equal(wakers->nr, 1);
	assert_int_equal(wakers->rows[0].how, WAKER_CHILD);
	assert_int_equal(wakers->rows[0].tally.weight, blocked_ms * NS_PER_MS);
	assert_string_equal(profile_str(profile, wakers->rows[0].child), name);
	wakers_free(wakers);
	weighed_free(&weighed);
	profile_free(profile);
}

static void expect_child(struct made *made, const char *name)
{
	expect_child_of(made, 30, name);
}

/* A child that was born later ended another wait, and one that ended earlier did, too. */
TEST(wakers, are_children_that_may_have_ended_the_wait)
{
	struct made made = made_wait_for_child();

	made_child(&made, 200, "cc1", 2, 39);
	made_child(&made, 201, "as", 38, 50);
	made_child(&made, 202, "cpp", 2, 25);
	made_child(&made, 203, "cc1", 3, 58);
	expect_child(&made, "cc1");
}

/* Its last sample has the time up to its end, and may be of two sleeps. */
TEST(wakers, are_children_of_a_thread_that_ends)
{
	struct made made = made_wait_for_child();

	made.profile->samples[2] = made.profile->samples[1];
	made.profile->samples[2].time_ns = 60 * NS_PER_MS;
	made.profile->samples[2].blocked_ns = 30 * NS_PER_MS;
	made_child(&made, 200, "cc1", 2, 50);
	made_child(&made, 201, "as", 49, 58);
	expect_child_of(&made, 60, "cc1");
}

/* Two may have, or one that was not seen, or none is known. */
TEST(wakers, are_no_child_where_another_one_may_have_ended_the_wait)
{
	struct made two = made_wait_for_child(), unseen, none;

	made_child(&two, 200, "cc1", 2, 39);
	made_child(&two, 201, "as", 28, 50);
	expect_child(&two, "");
	unseen = made_wait_for_child();
	made_child(&unseen, 200, "cc1", 2, 39);
	made_child(&unseen, 201, "sh", 20, 21)->nr_unseen = 4;
	expect_child(&unseen, "");
	none = made_wait_for_child();
	made_child(&none, 200, "cc1", 2, 61);
	expect_child(&none, "");
}

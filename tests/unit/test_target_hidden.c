// SPDX-License-Identifier: GPL-2.0-or-later
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "target/target_priv.h"

#define MANY_TICKS 1000

/* The thread that is asked about is our own. */
struct fixture {
	struct target *target;
	struct tracee *tracee;
	int pipe[2];
};

static int set_up(void **state)
{
	static struct fixture fixture;
	const struct target_options options = {0};

	fixture.target = target_new(&options);
	fixture.tracee = target_add(fixture.target, getpid(), gettid());
	fixture.tracee->priv->looked_awake = true;
	fixture.tracee->priv->hides_kernel_stack = true;
	*state = &fixture;
	return pipe(fixture.pipe);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	target_free(fixture->target);
	close(fixture->pipe[0]);
	close(fixture->pipe[1]);
	return 0;
}

/* The clock of a thread that runs is as of the kernel's last tick: each 10 ms or oftener. */
static void compute_for(uint64_t length_ns)
{
	uint64_t end_ns = clock_thread_cpu_ns() + length_ns;

	while (clock_thread_cpu_ns() < end_ns)
		continue;
}

static void compute(void)
{
	compute_for(20 * NS_PER_MS);
}

static void nap(void)
{
	const struct timespec length = {.tv_nsec = NS_PER_MS};

	nanosleep(&length, NULL);
}

static void test_target_hidden__who_was_in_a_transfer_is_stopped_once_it_has_run_on(void **state)
{
	struct fixture *fixture = *state;

	target_met_in_transfer(fixture->tracee);
	target_stop_would_spoil(fixture->tracee);
	for (int i = 0; i < 3; i++) {
		nap();
		assert_true(target_stop_would_spoil(fixture->tracee));
		compute();
		assert_false(target_stop_would_spoil(fixture->tracee));
	}
}

static void *ask_about_new_thread(void *context)
{
	struct target *target = context;
	struct tracee *tracee = target_add(target, getpid(), gettid());
	uint64_t end_ns = clock_thread_cpu_ns() + NS_PER_MS / 4;

	tracee->priv->looked_awake = true;
	tracee->priv->hides_kernel_stack = true;
	while (clock_thread_cpu_ns() < end_ns)
		continue;
	return target_stop_would_spoil(tracee) ? tracee : NULL;
}

static bool new_thread_is_stopped(struct fixture *fixture)
{
	void *refused = NULL;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, ask_about_new_thread, fixture->target), 0);
	pthread_join(thread, &refused);
	return !refused;
}

/* Programs that begin a thread for each request have none that lives for longer. */
static void test_target_hidden__new_threads_are_stopped_unless_transfers_are_made(void **state)
{
	struct fixture *fixture = *state;

	assert_true(new_thread_is_stopped(fixture));
	target_met_in_transfer(fixture->tracee);
	assert_false(new_thread_is_stopped(fixture));
	target_judge_anew(fixture->tracee); /* another program */
	assert_true(new_thread_is_stopped(fixture));
}

static void test_target_hidden__new_threads_are_stopped_again_once_none_is_made(void **state)
{
	struct fixture *fixture = *state;

	target_met_in_transfer(fixture->tracee);
	fixture->tracee->priv->sleeps.process_sent_ns -= 20 * NS_PER_SEC;
	assert_true(new_thread_is_stopped(fixture));
	target_met_in_transfer(fixture->tracee);
	assert_false(new_thread_is_stopped(fixture));
}

/* The process that has made ours. */
static struct tracee *add_parent(struct fixture *fixture)
{
	struct tracee *parent = target_add(fixture->target, getppid(), getppid());

	fixture->tracee->priv->parent_tid = parent->tid;
	return parent;
}

static void test_target_hidden__new_threads_are_stopped_where_another_program_sends(void **state)
{
	struct fixture *fixture = *state;

	fixture->tracee->priv->has_executed = true;
	target_met_in_transfer(add_parent(fixture));
	assert_true(new_thread_is_stopped(fixture));
}

static void test_target_hidden__but_not_where_another_process_of_the_program_does(void **state)
{
	struct fixture *fixture = *state;

	target_met_in_transfer(add_parent(fixture));
	assert_false(new_thread_is_stopped(fixture));
}

static void test_target_hidden__a_stop_is_no_sleep(void **state)
{
	struct fixture *fixture = *state;

	target_met_in_transfer(fixture->tracee);
	target_stop_would_spoil(fixture->tracee);
	nap();
	assert_true(target_stop_would_spoil(fixture->tracee));
	nap(); /* in place of one */
	fixture->tracee->priv->nr_stops++;
	compute();
	assert_false(target_stop_would_spoil(fixture->tracee));
}

static void test_target_hidden__whose_calls_are_known_is_stopped_at_any_time(void **state)
{
	struct fixture *fixture = *state;

	nap();
	target_stop_would_spoil(fixture->tracee);
	nap();
	assert_true(target_stop_would_spoil(fixture->tracee));
	fixture->tracee->priv->sleeps.nr_seen = 100;
	nap();
	assert_false(target_stop_would_spoil(fixture->tracee));
	target_judge_anew(fixture->tracee); /* those were of another program */
	nap();
	assert_true(target_stop_would_spoil(fixture->tracee));
}

static void test_target_hidden__who_is_never_seen_asleep_is_stopped_in_the_end(void **state)
{
	struct fixture *fixture = *state;
	int nr = 0;

	for (; nr < 1000; nr++) {
		nap();
		if (!target_stop_would_spoil(fixture->tracee) && nr)
			break;
	}
	assert_in_range(nr, 3, 100);
}

/* A stop has cut a write to a pipe. */
static void cut(struct fixture *fixture)
{
	const struct proc_syscall call = {
		.kind = PROC_SYSCALL_INSIDE,
		.nr = SYS_write,
		.args = {(uint64_t)fixture->pipe[1], 0, 1 << 20},
	};

	target_learn_of_stop(fixture->tracee, &call, 1 << 16);
}

static void test_target_hidden__who_is_cut_again_soon_is_left_alone_for_longer(void **state)
{
	struct fixture *fixture = *state;
	struct tracee_private *priv = fixture->tracee->priv;
	uint64_t first_ns;

	cut(fixture);
	first_ns = priv->sleeps.pause_ns;
	assert_true(first_ns);
	priv->ticks.nr_interrupts += 3;
	cut(fixture);
	assert_true(priv->sleeps.pause_ns > 2 * first_ns);
	/* It has shown since that it does other things as well. */
	priv->ticks.nr_interrupts += 1000;
	cut(fixture);
	assert_int_equal(priv->sleeps.pause_ns, first_ns);
	for (int i = 0; i < 100; i++)
		cut(fixture);
	assert_in_range(priv->sleeps.pause_ns, 10 * NS_PER_SEC, 100 * NS_PER_SEC);
	compute();
	assert_true(target_stop_would_spoil(fixture->tracee));
}

static void test_target_hidden__who_computes_mostly_is_left_alone_for_no_longer(void **state)
{
	struct fixture *fixture = *state;
	struct tracee_private *priv = fixture->tracee->priv;

	priv->ticks.user = MANY_TICKS;
	target_stop_would_spoil(fixture->tracee);
	for (int i = 0; i < 100; i++)
		cut(fixture);
	assert_in_range(priv->sleeps.pause_ns, 10 * NS_PER_MS, 100 * NS_PER_MS);
	/* It sends for the most part now. */
	priv->ticks.system = MANY_TICKS;
	target_stop_would_spoil(fixture->tracee);
	for (int i = 0; i < 100; i++)
		cut(fixture);
	assert_in_range(priv->sleeps.pause_ns, 10 * NS_PER_SEC, 100 * NS_PER_SEC);
}

static void test_target_hidden__who_turns_to_computing_is_seen_soon(void **state)
{
	struct fixture *fixture = *state;
	struct tracee_private *priv = fixture->tracee->priv;

	for (int i = 0; i < 100; i++)
		cut(fixture);
	target_stop_would_spoil(fixture->tracee);
	compute();
	assert_true(target_stop_would_spoil(fixture->tracee));
	priv->ticks.user = MANY_TICKS;
	for (int i = 0; i < 5; i++)
		compute();
	assert_false(target_stop_would_spoil(fixture->tracee));
}

static void test_target_hidden__but_not_who_sends_files(void **state)
{
	struct fixture *fixture = *state;
	struct tracee_private *priv = fixture->tracee->priv;
	int file = memfd_create("sent", MFD_CLOEXEC);
	const struct proc_syscall call = {
		.kind = PROC_SYSCALL_INSIDE,
		.nr = SYS_sendfile,
		.args = {(uint64_t)fixture->pipe[1], (uint64_t)file, 0, 1 << 20},
	};

	assert_int_equal(ftruncate(file, 1 << 20), 0);
	assert_int_equal(lseek(file, 1 << 16, SEEK_SET), 1 << 16);
	priv->ticks.user = MANY_TICKS;
	target_stop_would_spoil(fixture->tracee);
	target_learn_of_stop(fixture->tracee, &call, 1 << 16);
	close(file);
	assert_true(priv->sleeps.pause_ns > NS_PER_SEC);
	for (int i = 0; i < 5; i++)
		compute();
	assert_true(target_stop_would_spoil(fixture->tracee));
}

static void test_target_hidden__a_transfer_that_came_out_whole_tells_nothing(void **state)
{
	struct fixture *fixture = *state;
	const struct proc_syscall call = {
		.kind = PROC_SYSCALL_INSIDE,
		.nr = SYS_write,
		.args = {(uint64_t)fixture->pipe[1], 0, 1 << 20},
	};

	target_learn_of_stop(fixture->tracee, &call, 1 << 20);
	assert_false(fixture->tracee->priv->sleeps.pause_ns);
}

static void test_target_hidden__short_bursts_of_who_sends_are_stopped_at_times(void **state)
{
	struct fixture *fixture = *state;
	int nr = 0;

	fixture->tracee->priv->ticks.user = MANY_TICKS;
	for (; nr < 1000; nr++) {
		target_met_in_transfer(fixture->tracee);
		compute_for(NS_PER_MS);
		nap();
		if (!target_stop_would_spoil(fixture->tracee) && nr)
			break;
	}
	assert_in_range(nr, 3, 100);
}

static void test_target_hidden__but_not_of_who_is_in_the_kernel_mostly(void **state)
{
	struct fixture *fixture = *state;

	fixture->tracee->priv->ticks.system = MANY_TICKS;
	target_stop_would_spoil(fixture->tracee);
	for (int i = 0; i < 100; i++) {
		target_met_in_transfer(fixture->tracee);
		nap();
		assert_true(target_stop_would_spoil(fixture->tracee));
	}
}

static void test_target_hidden__transfers_of_long_ago_are_forgotten(void **state)
{
	struct fixture *fixture = *state;
	struct tracee_private *priv = fixture->tracee->priv;

	priv->sleeps.nr_seen = 100;
	target_met_in_transfer(fixture->tracee);
	target_stop_would_spoil(fixture->tracee);
	nap();
	assert_true(target_stop_would_spoil(fixture->tracee));
	priv->transfer_cpu_ns -= 2 * NS_PER_SEC;
	nap();
	assert_false(target_stop_would_spoil(fixture->tracee));
	/* A pause lasts for as long, but not into another program. */
	for (int i = 0; i < 5; i++)
		cut(fixture);
	for (int i = 0; i < 5; i++)
		compute();
	assert_true(target_stop_would_spoil(fixture->tracee));
	target_judge_anew(fixture->tracee);
	compute();
	assert_false(target_stop_would_spoil(fixture->tracee));
}

static void test_target_hidden__a_long_pause_gets_shorter_with_stops_that_cut_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct tracee_private *priv = fixture->tracee->priv;
	uint64_t first_ns, last_ns;

	cut(fixture);
	first_ns = priv->sleeps.pause_ns;
	for (int i = 0; i < 3; i++)
		cut(fixture);
	do {
		last_ns = priv->sleeps.pause_ns;
		target_learn_of_stop(fixture->tracee, NULL, 0);
	} while (priv->sleeps.pause_ns < last_ns);
	assert_in_range(priv->sleeps.pause_ns, first_ns / 2, 2 * first_ns);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_target_hidden__##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_was_in_a_transfer_is_stopped_once_it_has_run_on),
		TEST(new_threads_are_stopped_unless_transfers_are_made),
		TEST(new_threads_are_stopped_again_once_none_is_made),
		TEST(new_threads_are_stopped_where_another_program_sends),
		TEST(but_not_where_another_process_of_the_program_does),
		TEST(a_stop_is_no_sleep),
		TEST(whose_calls_are_known_is_stopped_at_any_time),
		TEST(who_is_never_seen_asleep_is_stopped_in_the_end),
		TEST(who_is_cut_again_soon_is_left_alone_for_longer),
		TEST(who_computes_mostly_is_left_alone_for_no_longer),
		TEST(who_turns_to_computing_is_seen_soon),
		TEST(but_not_who_sends_files),
		TEST(short_bursts_of_who_sends_are_stopped_at_times),
		TEST(but_not_of_who_is_in_the_kernel_mostly),
		TEST(transfers_of_long_ago_are_forgotten),
		TEST(a_long_pause_gets_shorter_with_stops_that_cut_nothing),
		TEST(a_transfer_that_came_out_whole_tells_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

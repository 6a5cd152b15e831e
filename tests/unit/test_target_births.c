// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "target/target_priv.h"

/* Ids that no process has: larger than the kernel gives away. */
#define NOBODY ((pid_t)1 << 30)

#define NR_THREADS 200

static struct target *made_target(void)
{
	const struct target_options options = {.follow_children = false};

	return target_new(&options);
}

static void test_target_births__child_is_expected_until_it_is_met(void **state)
{
	struct target *target = made_target();
	const struct tracee *parent = target_add(target, NOBODY, NOBODY + 1);
	pid_t tids[UNMET_MAX];
	struct birth birth;

	(void)state;
	target_note_birth(target, parent, NOBODY + 2, false);
	assert_true(target_is_expected(target, NOBODY + 2));
	assert_int_equal(target_unmet_children(target, tids), 1);
	assert_int_equal(tids[0], NOBODY + 2);
	birth = target_take_birth(target, NOBODY + 2);
	assert_int_equal(birth.parent_tid, NOBODY + 1);
	assert_int_equal(birth.parent_tgid, NOBODY);
	assert_false(target_is_expected(target, NOBODY + 2));
	assert_int_equal(target_unmet_children(target, tids), 0);
	assert_int_equal(target_take_birth(target, NOBODY + 2).parent_tid, 0);
	target_free(target);
}

static void test_target_births__of_many_children_all_have_their_turn(void **state)
{
	struct target *target = made_target();
	const struct tracee *parent = target_add(target, NOBODY, NOBODY);
	bool had_turn[2 * UNMET_MAX + 3] = {false};
	pid_t tids[UNMET_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(had_turn); i++)
		target_note_birth(target, parent, NOBODY + 1 + (pid_t)i, false);
	for (int i = 0; i < 3; i++) {
		size_t nr = target_unmet_children(target, tids);

		while (nr-- > 0)
			had_turn[tids[nr] - NOBODY - 1] = true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(had_turn); i++)
		assert_true(had_turn[i]);
	for (pid_t i = 0; i < 2 * BIRTHS_MAX; i++)
		target_note_birth(target, parent, NOBODY + 100 + i, false);
	assert_true(target_is_expected(target, NOBODY + 99 + 2 * BIRTHS_MAX));
	assert_false(target_is_expected(target, NOBODY + 100));
	target_free(target);
}

static void test_target_births__child_that_was_met_is_not_expected(void **state)
{
	struct target *target = made_target();
	const struct tracee *parent = target_add(target, NOBODY, NOBODY);
	struct tracee *child = target_add(target, NOBODY, NOBODY + 1);

	(void)state;
	child->priv->is_untold = true;
	target_note_birth(target, parent, NOBODY + 1, false);
	assert_false(child->priv->is_untold);
	assert_int_equal(child->priv->parent_tid, NOBODY);
	assert_false(target_is_expected(target, NOBODY + 1));
	target_free(target);
}

static void test_target_births__latest_parents_are_expected(void **state)
{
	struct target *target = made_target();
	pid_t tids[PARENTS_MAX];

	(void)state;
	assert_int_equal(target_recent_parents(target, tids), 0);
	for (pid_t i = 0; i <= PARENTS_MAX; i++) {
		const struct tracee *parent = target_add(target, NOBODY, NOBODY + i);

		target_note_birth(target, parent, NOBODY + 100 + 2 * i, false);
		target_note_birth(target, parent, NOBODY + 101 + 2 * i, false);
	}
	assert_int_equal(target_recent_parents(target, tids), PARENTS_MAX);
	assert_false(target_is_expected(target, NOBODY));
	assert_true(target_is_expected(target, NOBODY + 1));
	assert_true(target_is_expected(target, NOBODY + PARENTS_MAX));
	target_free(target);
}

static void *sleep_on(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static _Noreturn void make_threads(int go)
{
	pthread_attr_t small;
	pthread_t thread;
	char byte;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	if (read(go, &byte, 1) != 1)
		_exit(1);
	for (int i = 0; i < NR_THREADS; i++) {
		if (pthread_create(&thread, &small, sleep_on, NULL) != 0)
			_exit(2);
	}
	sleep_on(NULL);
	_exit(3);
}

/* Whom the first signal names is served; then nobody is but those that are expected. */
static void test_target_births__parent_and_children_are_served_without_asking_all(void **state)
{
	struct target *target = made_target();
	struct target_event event = {0};
	int nr_met = 0;
	int go[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(go), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		make_threads(go[0]);
	assert_int_equal(
		ptrace(PTRACE_SEIZE, pid, NULL, (void *)target_ptrace_options(target, false)), 0);
	target_add(target, pid, pid);
	assert_int_equal(write(go[1], "", 1), 1);
	while (!target_recent_parents(target, (pid_t[PARENTS_MAX]){0})) {
		target_next_of(target, pid, &event);
		assert_int_equal(event.kind, TARGET_EVENT_NONE);
		sched_yield();
	}
	while (nr_met < NR_THREADS) {
		target_next_expected(target, &event);
		if (event.kind == TARGET_EVENT_NONE) {
			sched_yield();
			continue;
		}
		assert_int_equal(event.kind, TARGET_EVENT_THREAD);
		assert_int_equal(event.tracee->tgid, pid);
		assert_int_equal(event.tracee->priv->parent_tid, pid);
		nr_met++;
		target_resume(target, event.tracee);
	}
	kill(pid, SIGKILL);
	while (event.kind != TARGET_EVENT_GONE || event.tracee->tid != pid) {
		if (event.kind == TARGET_EVENT_GONE)
			target_forget(target, event.tracee);
		target_next(target, &event);
	}
	target_forget(target, event.tracee);
	close(go[0]);
	close(go[1]);
	target_free(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_target_births__child_is_expected_until_it_is_met),
		cmocka_unit_test(test_target_births__of_many_children_all_have_their_turn),
		cmocka_unit_test(test_target_births__child_that_was_met_is_not_expected),
		cmocka_unit_test(test_target_births__latest_parents_are_expected),
		cmocka_unit_test(
			test_target_births__parent_and_children_are_served_without_asking_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/target_priv.h"

#define MANY_STOPS 1000
#define MANY_TICKS 100000

struct fixture {
	struct target *target;
	struct tracee *tracee;
};

static int set_up(void **state)
{
	static struct fixture fixture;
	const struct target_options options = {0};

	fixture.target = target_new(&options);
	fixture.tracee = target_add(fixture.target, getpid(), gettid());
	fixture.tracee->priv->looked_awake = true;
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	target_free(fixture->target);
	return 0;
}

static void test_target_spoil__stops_of_the_old_program_say_nothing_of_the_new(void **state)
{
	struct fixture *fixture = *state;
	const struct judged_stops *stops = &fixture->tracee->priv->stops;

	for (unsigned i = 0; i < MANY_STOPS; i++)
		target_note_stop(fixture->tracee, false);
	assert_true(stops->few_in_calls);
	target_judge_anew(fixture->tracee);
	assert_false(stops->few_in_calls);
	assert_int_equal(stops->nr, 0);
}

static void test_target_spoil__time_of_the_old_program_says_nothing_of_the_new(void **state)
{
	struct fixture *fixture = *state;
	struct tracee_private *priv = fixture->tracee->priv;

	priv->ticks.user = MANY_TICKS;
	target_stop_would_spoil(fixture->tracee);
	assert_true(priv->makes_few_calls);
	priv->ticks.user += 100; /* not yet looked at once more, as it executes a program */
	target_judge_anew(fixture->tracee);
	assert_false(priv->makes_few_calls);
	/* Of the new one half is in the kernel. */
	priv->ticks.user += 100;
	priv->ticks.system += 100;
	target_stop_would_spoil(fixture->tracee);
	assert_false(priv->makes_few_calls);
	/* And who computes only is soon known again. */
	priv->ticks.user += MANY_TICKS;
	target_stop_would_spoil(fixture->tracee);
	assert_true(priv->makes_few_calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_target_spoil__stops_of_the_old_program_say_nothing_of_the_new, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			test_target_spoil__time_of_the_old_program_says_nothing_of_the_new, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "view/top_state.h"

static void type(struct top_state *state, const char *keys)
{
	for (; *keys; keys++)
		top_state_key(state, *keys);
}

static void test_top__keys_choose_what_is_shown(void **unused)
{
	struct top_state state = {
		.by = BY_FUNCTION, .metric = METRIC_CPU, .last_metric = METRIC_SAMPLES};

	(void)unused;
	type(&state, "bbs");
	assert_int_equal(state.by, BY_FILE);
	assert_true(state.by_total);
	type(&state, "bbbbbb");
	assert_int_equal(state.by, BY_FUNCTION);
	type(&state, "mm");
	assert_int_equal(state.metric, METRIC_RUNQ);
	type(&state, "mmm");
	assert_int_equal(state.metric, METRIC_CPU);
	type(&state, "a p");
	assert_true(state.all_time);
	assert_false(state.paused); /* twice */
	type(&state, "xyz\t");
	assert_false(state.quit);
	type(&state, "q");
	assert_true(state.quit);
}

static void test_top__keys_go_through_metrics_of_memory_where_there_are_such(void **unused)
{
	struct top_state state = {
		.by = BY_FUNCTION, .metric = METRIC_LIVE, .last_metric = METRIC_TEMPORARY};

	(void)unused;
	type(&state, "bbbbbb"); /* by process, and then not by state */
	assert_int_equal(state.by, BY_LIFETIME);
	type(&state, "b");
	assert_int_equal(state.by, BY_FUNCTION);
	type(&state, "mmm");
	assert_int_equal(state.metric, METRIC_TEMPORARY);
	type(&state, "m");
	assert_int_equal(state.metric, METRIC_CPU);
	type(&state, "bbbbbb");
	assert_int_equal(state.by, BY_STATE);
	type(&state, "mmmm");
	assert_int_equal(state.metric, METRIC_SAMPLES);
	assert_int_equal(state.by, BY_STATE);
	type(&state, "m");
	assert_int_equal(state.metric, METRIC_ALLOC);
	assert_int_equal(state.by, BY_FUNCTION);
}

static void test_top__filters_are_typed_in(void **unused)
{
	struct top_state state = {.by = BY_FUNCTION};

	(void)unused;
	type(&state, "/mqx\177ain\r");
	assert_string_equal(state.function, "mqain");
	assert_int_equal(state.prompt, TOP_PROMPT_NONE);
	assert_false(state.quit);
	type(&state, "/other\033");
	assert_string_equal(state.function, "mqain");
	type(&state, "/other\003");
	assert_string_equal(state.function, "mqain");
	assert_false(state.quit);
	type(&state, "tworker\n/\b\b\n");
	assert_string_equal(state.thread, "worker");
	assert_string_equal(state.function, "");
}

static void test_top__input_is_bounded(void **unused)
{
	struct top_state state = {.by = BY_FUNCTION};

	(void)unused;
	type(&state, "/");
	for (int i = 0; i < 1000; i++)
		type(&state, "x");
	type(&state, "\n");
	for (size_t i = 0; i < TOP_INPUT_MAX - 1; i++)
		assert_int_equal(state.function[i], 'x');
	assert_int_equal(state.function[TOP_INPUT_MAX - 1], '\0');
}

static void test_top__help_goes_with_any_key(void **unused)
{
	struct top_state state = {.by = BY_FUNCTION};

	(void)unused;
	type(&state, "?");
	assert_true(state.help);
	type(&state, "b");
	assert_false(state.help);
	assert_int_equal(state.by, BY_FUNCTION);
	type(&state, "hq");
	assert_true(state.quit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top__keys_choose_what_is_shown),
		cmocka_unit_test(test_top__keys_go_through_metrics_of_memory_where_there_are_such),
		cmocka_unit_test(test_top__filters_are_typed_in),
		cmocka_unit_test(test_top__input_is_bounded),
		cmocka_unit_test(test_top__help_goes_with_any_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

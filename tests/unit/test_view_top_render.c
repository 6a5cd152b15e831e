// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "calltree/count_history.h"
#include "tests/unit/made_profile.h"
#include "view/style.h"
#include "view/top_render.h"
#include "view/top_state.h"

#define MS UINT64_C(1000000)

/* A recording after so many steps of a tenth of a second, in which `parse` is called so often. */
static struct profile *after(unsigned int steps, uint64_t calls)
{
	struct made made = made_begin();
	struct profile_count *count;

	profile_add_command_word(made.profile, "./prog");
	for (unsigned int i = 0; i < steps; i++)
		made_sample(&made, i % 2 ? "main@m.c:3;parse@p.c:7" : "main@m.c:2", 100);
	count = made_count(&made, "parse@p.c:1", NULL, calls);
	count->to_ns = steps * 100 * MS;
	return made_end(&made);
}

static void expect(const struct profile *profile, const struct count_history *history,
		   const struct top_state *state, const char *expected)
{
	const struct view view = {.columns = 80};
	const struct top_frame frame = {.profile = profile,
					.state = state,
					.view = &view,
					.window_ns = 2500 * MS,
					.counts = history};
	struct buf text = {0};

	top_render(&frame, &text);
	assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
}

static void note(struct count_history *history, struct profile *profile)
{
	count_history_note(history, profile, 2500 * MS);
	profile_free(profile);
}

/* At 4 s the window begins at 1.5 s; counts are known from 2 s on, 400 calls in 2 s. */
static void test_top__calls_per_second_of_the_window(void **unused)
{
	const struct top_state last = {.by = BY_FUNCTION, .metric = METRIC_CPU};
	const struct top_state all = {.by = BY_FUNCTION, .metric = METRIC_CPU, .all_time = true};
	struct count_history history = {0};
	struct profile *profile = after(40, 700);

	(void)unused;
	note(&history, after(10, 100));
	note(&history, after(20, 300));
	note(&history, after(30, 500));
	expect(profile, &history, &last,
	       "2.50 s of CPU time in the last 2.50 s, 25 samples: ./prog\n"
	       "\n"
	       "self ms    %    ± total ms     % calls/s per call    ±  function  module\n"
	       "   1300 52.0 18.2     1300  52.0     200  2.50 ms 1.12  parse     prog\n"
	       "   1200 48.0 18.2     2500 100.0                        main      prog\n");
	expect(profile, &history, &all,
	       "4.00 s of CPU time in the last 4.00 s, 40 samples: ./prog\n"
	       "\n"
	       "self ms    %    ± total ms     % calls/s per call    ±  function  module\n"
	       "   2000 50.0 14.8     4000 100.0                        main      prog\n"
	       "   2000 50.0 14.8     2000  50.0     175  2.86 ms 0.85  parse     prog\n");
	count_history_release(&history);
	profile_free(profile);
}

/* Where no earlier counts are known, or not those of a thread, there are no columns of them. */
static void test_top__calls_are_not_guessed(void **unused)
{
	const struct top_state last = {.by = BY_FUNCTION, .metric = METRIC_CPU};
	const struct top_state thread = {
		.by = BY_FUNCTION, .metric = METRIC_CPU, .all_time = true, .thread = "prog"};
	struct count_history history = {0};
	struct profile *profile = after(40, 700);

	(void)unused;
	expect(profile, &history, &last,
	       "2.50 s of CPU time in the last 2.50 s, 25 samples: ./prog\n"
	       "\n"
	       "self ms    %    ± total ms     %  function  location  module\n"
	       "   1300 52.0 18.2     1300  52.0  parse     p.c:1     prog\n"
	       "   1200 48.0 18.2     2500 100.0  main      m.c:1     prog\n");
	expect(profile, &history, &thread,
	       "4.00 s of CPU time in the last 4.00 s, 40 samples: ./prog\n"
	       "\n"
	       "self ms    %    ± total ms     %  function  location  module\n"
	       "   2000 50.0 14.8     4000 100.0  main      m.c:1     prog\n"
	       "   2000 50.0 14.8     2000  50.0  parse     p.c:1     prog\n");
	profile_free(profile);
}

static void test_top__history_forgets_what_no_window_needs(void **unused)
{
	struct count_history history = {0};
	struct profile *now = after(100, 9000);

	(void)unused;
	for (unsigned int i = 1; i < 100; i++)
		note(&history, after(i, i));
	assert_true(history.nr < 30);
	assert_int_equal(count_history_find(&history, now, 7500 * MS)->calls[0], 75);
	assert_null(count_history_find(&history, now, 9950 * MS));
	count_history_release(&history);
	profile_free(now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top__calls_per_second_of_the_window),
		cmocka_unit_test(test_top__calls_are_not_guessed),
		cmocka_unit_test(test_top__history_forgets_what_no_window_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

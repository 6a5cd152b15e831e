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

static void expect_frame(const struct top_frame *frame, const char *expected)
{
	struct buf text = {0};

	top_render(frame, &text);
	assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
}

static void expect(const struct profile *profile, const struct count_history *history,
		   const struct top_state *state, const char *expected)
{
	const struct view view = {.columns = 80};

	expect_frame(&(const struct top_frame){.profile = profile,
					       .state = state,
					       .view = &view,
					       .window_ns = 2500 * MS,
					       .counts = history},
		     expected);
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

#define MIB (UINT64_C(1) << 20)

/*
 * Attached to. cache() keeps 3 MiB of the first second, and parse() 1 MiB of the third one, in
 * which 8 MiB are freed. A window of 2 s of these four begins half-way between two moments: of the
 * 9 MiB between them it has half, in a second of two.
 */
static struct profile *of_memory(void)
{
	struct made made = made_begin();
	struct profile_heap_moment moment = {.rss_anon_bytes = 100 * MIB,
					     .rss_file_bytes = 4 * MIB};

	made.profile->meta.attached = true;
	profile_add_command_word(made.profile, "./prog");
	profile_add_heap_moment(made.profile, &moment);
	made_block(&made, "main@m.c:2;cache@c.c:3", 3 * MIB, 0, 500000);
	moment.time_ns = 1000 * MS;
	moment.allocated_bytes = 3 * MIB;
	moment.nr_allocations = 1;
	profile_add_heap_moment(made.profile, &moment);
	made_block(&made, "main@m.c:2;parse@p.c:7", 8 * MIB, 0, 1500000)->freed_ns =
		3000 * 1024 * (MS / 1024);
	made_block(&made, "main@m.c:3;parse@p.c:7", 1 * MIB, 0, 900000);
	moment.time_ns = 3000 * MS;
	moment.rss_anon_bytes = 104 * MIB;
	moment.allocated_bytes = 12 * MIB;
	moment.nr_allocations = 3;
	profile_add_heap_moment(made.profile, &moment);
	made.profile->meta.duration_ns = 4000 * MS;
	return made_end(&made);
}

static void test_top__who_holds_the_memory(void **unused)
{
	const struct view view = {.columns = 80}, narrow = {.columns = 40};
	const struct top_state live = {.metric = METRIC_LIVE};
	const struct top_state alloc = {.metric = METRIC_ALLOC};
	struct profile *profile = of_memory();
	struct top_frame frame = {
		.profile = profile, .state = &live, .view = &view, .window_ns = 2000 * MS};

	(void)unused;
	expect_frame(
		&frame,
		"4.00 MiB alive, 2 blocks: ./prog\n"
		"live 4.00 MiB, allocated 12.0 MiB, 2.25 MiB/s, RSS 108 MiB (104 MiB at first)\n"
		"\n"
		"self KiB    %   ± total KiB     % blocks  function  location  module\n"
		"    3072 75.0 0.0      3072  75.0      1  cache     c.c:1     prog\n"
		"    1024 25.0 0.0      1024  25.0      1  parse     p.c:1     prog\n"
		"       0  0.0 0.0      4096 100.0      0  main      m.c:1     prog\n");
	frame.state = &alloc;
	expect_frame(
		&frame,
		"9.00 MiB allocated in the last 2.00 s, 2 blocks: ./prog\n"
		"live 4.00 MiB, allocated 12.0 MiB, 2.25 MiB/s, RSS 108 MiB (104 MiB at first)\n"
		"\n"
		"self KiB     %   ± total KiB     % blocks  function  location  module\n"
		"    9216 100.0 0.0      9216 100.0      2  parse     p.c:1     prog\n"
		"       0   0.0 0.0      9216 100.0      0  main      m.c:1     prog\n");
	frame.view = &narrow;
	expect_frame(&frame, "9.00 MiB allocated in the last 2.00 s, …\n"
			     "live 4.00 MiB, allocated 12.0 MiB,\n"
			     "2.25 MiB/s,\n"
			     "RSS 108 MiB (104 MiB at first)\n"
			     "\n"
			     "self KiB     % total KiB     %  function\n"
			     "    9216 100.0      9216 100.0  parse\n"
			     "       0   0.0      9216 100.0  main\n");
	profile_free(profile);
}

/* All lines of the screen are used, and no more. */
static void test_top__rows_fit_the_screen(void **unused)
{
	const struct view view = {.columns = 40};
	const struct top_state live = {.metric = METRIC_LIVE};
	struct profile *profile = of_memory();

	(void)unused;
	for (size_t nr_lines = 1; nr_lines < 14; nr_lines++) {
		const struct top_frame frame = {.profile = profile,
						.state = &live,
						.view = &view,
						.limit = TOP_LIMIT_FITTING,
						.nr_lines = nr_lines,
						.has_keys = true};
		struct buf text = {0};
		size_t nr = 0;

		top_render(&frame, &text);
		for (size_t i = 0; i < text.nr_bytes; i++)
			nr += text.bytes[i] == '\n';
		/* Six of headings, and three rows. */
		assert_int_equal(nr, nr_lines < 9 ? 9 : nr_lines < 10 ? nr_lines : 10);
		buf_release(&text);
	}
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top__calls_per_second_of_the_window),
		cmocka_unit_test(test_top__calls_are_not_guessed),
		cmocka_unit_test(test_top__history_forgets_what_no_window_needs),
		cmocka_unit_test(test_top__who_holds_the_memory),
		cmocka_unit_test(test_top__rows_fit_the_screen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

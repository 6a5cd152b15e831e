// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "base/sink.h"
#include "browse/browse.h"
#include "browse/key.h"
#include "browse/top.h"
#include "calltree/count_history.h"
#include "calltree/filter.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "view/style.h"

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

static const struct filter everything = {.from_ns = 0};

/* What `top` shows of a profile. */
struct session {
	const struct profile *profile;
	const struct count_history *history;
	struct top_state state;
	struct browse *browse;
	struct view view;
	uint64_t window_ns;
};

static void look(struct session *session)
{
	const struct browse_input input = {.profile = session->profile,
					   .window_ns =
						   session->state.all_time ? 0 : session->window_ns,
					   .counts = session->history};

	assert_int_equal(browse_show(session->browse, &input, NULL), 0);
}

static void begin(struct session *session, const struct profile *profile, enum metric metric)
{
	const struct browse_options options = {
		.wishes = {.metric = metric, .metrics = UINT32_MAX, .sort = "self"},
		.filter = &everything,
		.is_live = true,
		.head = top_print_head,
		.context = &session->state};

	*session = (struct session){.profile = profile,
				    .browse = browse_new(&options),
				    .view = {.columns = 80},
				    .window_ns = 2500 * MS};
}

static void press(struct session *session, const char *keys)
{
	for (; *keys; keys++)
		if (top_key(&session->state, session->browse, (unsigned char)*keys))
			look(session);
}

static void expect(struct session *session, const char *expected)
{
	struct sink sink = SINK_MEMORY;

	top_print(session->browse, &session->state, &session->view, 0, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
}

static void expect_screen(struct session *session, size_t nr_lines, const char *expected)
{
	struct browse_screen screen = {.selected = BROWSE_NO_LINE};

	browse_draw(session->browse, &session->view, nr_lines, &screen);
	assert_string_equal(buf_str(&screen.text), expected);
	buf_release(&screen.text);
}

static void note(struct count_history *history, struct profile *profile)
{
	count_history_note(history, profile, 2500 * MS);
	profile_free(profile);
}

/* At 4 s the window begins at 1.5 s; counts are known from 2 s on, 400 calls in 2 s. */
TEST(top, calls_per_second_of_the_window)
{
	struct count_history history = {0};
	struct profile *profile = after(40, 700);
	struct session session;

	note(&history, after(10, 100));
	note(&history, after(20, 300));
	note(&history, after(30, 500));
	begin(&session, profile, METRIC_CPU);
	session.history = &history;
	look(&session);
	expect(&session,
	       "CPU 100%, 1/1 threads; 2.50 s of CPU time in the last 2.50 s, 25 samples: ./prog\n"
	       "2.50 s: 100.0% on a CPU: 52.0% in parse, 48.0% in main\n"
	       "\n"
	       "self ms    %    ± total ms     % calls/s per call    ±  function  module\n"
	       "   1300 52.0 18.2     1300  52.0     200  2.50 ms 1.12  parse     prog\n"
	       "   1200 48.0 18.2     2500 100.0                        main      prog\n");
	press(&session, "a");
	expect(&session,
	       "CPU 100%, 1/1 threads; 4.00 s of CPU time in the last 4.00 s, 40 samples: ./prog\n"
	       "4.00 s: 100.0% on a CPU: 50.0% in main, 50.0% in parse\n"
	       "\n"
	       "self ms    %    ± total ms     % calls/s per call    ±  function  module\n"
	       "   2000 50.0 14.8     4000 100.0                        main      prog\n"
	       "   2000 50.0 14.8     2000  50.0     175  2.86 ms 0.85  parse     prog\n");
	browse_free(session.browse);
	count_history_release(&history);
	profile_free(profile);
}

/* Where no earlier counts are known, or not those of a thread, there are no columns of them. */
TEST(top, calls_are_not_guessed)
{
	struct count_history history = {0};
	struct profile *profile = after(40, 700);
	struct session session;

	begin(&session, profile, METRIC_CPU);
	session.history = &history;
	look(&session);
	expect(&session,
	       "CPU 100%, 1/1 threads; 2.50 s of CPU time in the last 2.50 s, 25 samples: ./prog\n"
	       "2.50 s: 100.0% on a CPU: 52.0% in parse, 48.0% in main\n"
	       "\n"
	       "self ms    %    ± total ms     %  function  location  module\n"
	       "   1300 52.0 18.2     1300  52.0  parse     p.c:1     prog\n"
	       "   1200 48.0 18.2     2500 100.0  main      m.c:1     prog\n");
	press(&session, "aTj\r"); /* the only thread */
	expect(&session,
	       "CPU 100%, 1/1 threads; 4.00 s of CPU time in the last 4.00 s, 40 samples: ./prog\n"
	       "4.00 s: 100.0% on a CPU: 50.0% in main, 50.0% in parse\n"
	       "\n"
	       "self ms    %    ± total ms     %  function  location  module\n"
	       "   2000 50.0 14.8     4000 100.0  main      m.c:1     prog\n"
	       "   2000 50.0 14.8     2000  50.0  parse     p.c:1     prog\n");
	browse_free(session.browse);
	profile_free(profile);
}

TEST(top, history_forgets_what_no_window_needs)
{
	struct count_history history = {0};
	struct profile *now = after(100, 9000);

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

TEST(top, who_holds_the_memory)
{
	struct profile *profile = of_memory();
	struct session session;

	begin(&session, profile, METRIC_LIVE);
	session.window_ns = 2000 * MS;
	look(&session);
	expect(&session,
	       "4.00 MiB alive, 2 blocks: ./prog\n"
	       "live 4.00 MiB, allocated 12.0 MiB, 2.25 MiB/s, RSS 108 MiB (104 MiB at first)\n"
	       "\n"
	       "self KiB    %   ± total KiB     % blocks  function  location  module\n"
	       "    3072 75.0 0.0      3072  75.0      1  cache     c.c:1     prog\n"
	       "    1024 25.0 0.0      1024  25.0      1  parse     p.c:1     prog\n"
	       "       0  0.0 0.0      4096 100.0      0  main      m.c:1     prog\n");
	browse_free(session.browse);
	begin(&session, profile, METRIC_ALLOC);
	session.window_ns = 2000 * MS;
	look(&session);
	expect(&session,
	       "9.00 MiB allocated in the last 2.00 s, 2 blocks: ./prog\n"
	       "live 4.00 MiB, allocated 12.0 MiB, 2.25 MiB/s, RSS 108 MiB (104 MiB at first)\n"
	       "\n"
	       "self KiB     %   ± total KiB     % blocks  function  location  module\n"
	       "    9216 100.0 0.0      9216 100.0      2  parse     p.c:1     prog\n"
	       "       0   0.0 0.0      9216 100.0      0  main      m.c:1     prog\n");
	session.view.columns = 40;
	expect_screen(&session, 12,
		      "9.00 MiB allocated in the last 2.00 s, …\n"
		      "live 4.00 MiB, allocated 12.0 MiB,\n"
		      "2.25 MiB/s,\n"
		      "RSS 108 MiB (104 MiB at first)\n"
		      "by function, most self first   h: keys\n"
		      "  self% total%  function\n"
		      "  100.0  100.0  parse\n"
		      "         100.0  main\n");
	browse_free(session.browse);
	profile_free(profile);
}

/* No more lines than the screen has, whatever it shows. */
TEST(top, rows_fit_the_screen)
{
	struct profile *profile = of_memory();
	struct session session;

	begin(&session, profile, METRIC_LIVE);
	look(&session);
	session.view.columns = 40;
	for (size_t nr_lines = 1; nr_lines < 14; nr_lines++) {
		struct browse_screen screen = {.selected = BROWSE_NO_LINE};
		size_t nr = 0;

		browse_draw(session.browse, &session.view, nr_lines, &screen);
		for (size_t i = 0; i < screen.text.nr_bytes; i++)
			nr += screen.text.bytes[i] == '\n';
		/* Three of headings, six where there is room for all, and three rows. */
		assert_int_equal(nr, nr_lines < 6 ? nr_lines : nr_lines < 12 ? 6 : 9);
		buf_release(&screen.text);
	}
	browse_free(session.browse);
	profile_free(profile);
}

/* Of three threads one ended before the last second, and one sleeps. */
TEST(top, how_busy_the_processes_are)
{
	struct made made = made_begin();
	struct session session;
	struct profile *profile;

	made_thread(&made, 100, 101, "ends");
	made_sample(&made, "main@m.c:3;early@e.c:7", 1000);
	made_thread(&made, 100, 102, "sleeps");
	made_sample(&made, "main@m.c:3;sleep@s.c:7", 0);
	made.thread = (struct thread_id){0};
	made_sample(&made, "main@m.c:3;late@l.c:7", 1000);
	profile = made_end(&made);
	profile->threads[1].end_ns = 900 * MS;
	profile->samples[2].cpu_ns = 600 * MS;
	profile->samples[2].blocked_ns = 400 * MS;
	begin(&session, profile, METRIC_CPU);
	session.window_ns = 1000 * MS;
	look(&session);
	press(&session, " ");
	assert_true(session.state.paused);
	expect_screen(
		&session, 12,
		"PAUSED; CPU 30%, 1/2 threads; 300 ms of CPU time in the last 1.00 s, 1 sample: …\n"
		"1.00 s: 60.0% on a CPU, 40.0% blocked: 100.0% in late\n"
		"by function, most self first   h: keys, q: quit\n"
		"self ms     %    ± total ms     %  function  location  module\n"
		"  300.0 100.0 39.7    300.0 100.0  late      l.c:1     prog\n"
		"    0.0   0.0 39.7    300.0 100.0  main      m.c:1     prog\n");
	session.view.columns = 40;
	press(&session, "pa");
	assert_false(session.state.paused);
	expect_screen(&session, 12,
		      "CPU 80%, 2/3 threads; 1.60 s of CPU tim…\n"
		      "2.00 s: 80.0% on a CPU, 20.0% blocked: …\n"
		      "by function, most self first   h: keys\n"
		      "  self% total%  function\n"
		      "   62.5   62.5  early\n"
		      "   37.5   37.5  late\n"
		      "         100.0  main\n");
	/* A key of a line that is typed is none of these. */
	press(&session, "/pa p");
	assert_false(session.state.paused);
	assert_true(session.state.all_time);
	press(&session, "\032");
	assert_true(session.state.stop);
	press(&session, "\003");
	assert_false(browse_is_over(session.browse));
	press(&session, "\003");
	assert_true(browse_is_over(session.browse));
	browse_free(session.browse);
	profile_free(profile);
}

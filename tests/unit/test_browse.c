// SPDX-License-Identifier: GPL-2.0-or-later
/* Screens of made-up profiles, and how keys lead from one to another. */
#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "browse/browse.h"
#include "browse/key.h"
#include "calltree/filter.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"
#include "view/style.h"

static const struct filter everything = {.from_ns = 0};

/* A browser of a profile on a screen of 80 columns and 12 lines, unless changed. */
struct session {
	struct profile *profile;
	struct browse *browse;
	struct view view;
	size_t nr_lines;
};

static struct browse_options options_of(const struct profile *profile)
{
	return (struct browse_options){.wishes = {.metric = METRIC_CPU,
						  .metrics = browse_metrics_of(profile),
						  .by = BY_FUNCTION,
						  .sort = "self"},
				       .filter = &everything,
				       .min_percent = 0.5};
}

static struct session begin_with(struct profile *profile, const struct browse_options *options)
{
	struct session session = {.profile = profile,
				  .browse = browse_new(options),
				  .view = {.columns = 80, .names = NAME_SHORT},
				  .nr_lines = 12};
	const struct browse_input input = {.profile = profile};

	assert_int_equal(browse_show(session.browse, &input, NULL), 0);
	return session;
}

static struct session begin(struct profile *profile)
{
	struct browse_options options = options_of(profile);

	return begin_with(profile, &options);
}

static void end(struct session *session)
{
	browse_free(session->browse);
	profile_free(session->profile);
}

/* The screen, the selected line with a '>' before it. */
static void append_screen(struct session *session, struct buf *text)
{
	struct browse_screen screen = {.selected = BROWSE_NO_LINE};
	size_t line = 0;

	browse_draw(session->browse, &session->view, session->nr_lines, &screen);
	for (size_t i = 0; i < screen.text.nr_bytes; i++) {
		if (i == 0 || screen.text.bytes[i - 1] == '\n')
			buf_append_str(text, line++ == screen.selected ? ">" : "");
		buf_append_byte(text, screen.text.bytes[i]);
	}
	assert_true(line <= session->nr_lines);
	buf_release(&screen.text);
}

static void expect(struct session *session, const char *expected)
{
	struct buf text = {0};

	append_screen(session, &text);
	assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
}

/* Some line of the screen, which may be a part of one. */
static void expect_within(struct session *session, const char *expected)
{
	struct buf text = {0};

	append_screen(session, &text);
	if (!strstr(buf_str(&text), expected))
		assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
}

static void press(struct session *session, const char *keys)
{
	for (; *keys; keys++)
		browse_key(session->browse, (unsigned char)*keys);
}

static void press_key(struct session *session, int key)
{
	browse_key(session->browse, key);
}

static struct profile *branching(void)
{
	struct made made = made_begin();

	profile_add_command_word(made.profile, "./prog");
	made_sample(&made, "start@s.c:1;main@m.c:7;parse@p.c:3;token@p.c:20", 600);
	made_sample(&made, "start@s.c:1;main@m.c:7;parse@p.c:4;token@p.c:21+get@i.h:2", 100);
	made_sample(&made, "start@s.c:1;main@m.c:8;print@o.c:5;libc.so!write", 250);
	made_thread(&made, 100, 101, "worker");
	made_sample(&made, "start@s.c:1;work@w.c:9;token@p.c:20", 46);
	made_sample(&made, "start@s.c:1;work@w.c:9;rare@r.c:2", 4);
	return made_end(&made);
}

/* The same program later: other ids, another order. */
static struct profile *branching_later(void)
{
	struct made made = made_begin();

	profile_add_command_word(made.profile, "./prog");
	made_sample(&made, "start@s.c:1;main@m.c:9;finish@f.c:1", 3000);
	made_sample(&made, "start@s.c:1;main@m.c:8;print@o.c:5;libc.so!write", 250);
	made_sample(&made, "start@s.c:1;main@m.c:7;parse@p.c:4;token@p.c:21+get@i.h:2", 100);
	made_sample(&made, "start@s.c:1;main@m.c:7;parse@p.c:3;token@p.c:20", 600);
	made_thread(&made, 100, 101, "worker");
	made_sample(&made, "start@s.c:1;work@w.c:9;token@p.c:20", 46);
	made_sample(&made, "start@s.c:1;work@w.c:9;rare@r.c:2", 4);
	return made_end(&made);
}

TEST(browse, table_has_a_selected_row)
{
	struct session session = begin(branching());

	expect(&session, "1.00 s of CPU time, 5 samples in 1.00 s: ./prog\n"
			 "by function, most self first   h: keys, i: notes, q: quit\n"
			 "self ms    %    ± total ms     %  function  location  module\n"
			 ">  646.0 64.6 38.9    746.0  74.6  token     p.c:1     prog\n"
			 "  250.0 25.0 37.6    250.0  25.0  write               libc.so\n"
			 "  100.0 10.0 34.5    100.0  10.0  get       i.h:1     prog\n"
			 "    4.0  0.4 31.4      4.0   0.4  rare      r.c:1     prog\n"
			 "    0.0  0.0 31.3   1000.0 100.0  start     s.c:1     prog\n"
			 "    0.0  0.0 31.3    950.0  95.0  main      m.c:1     prog\n"
			 "    0.0  0.0 31.3    700.0  70.0  parse     p.c:1     prog\n"
			 "    0.0  0.0 31.3    250.0  25.0  print     o.c:1     prog\n"
			 "    0.0  0.0 31.3     50.0   5.0  work      w.c:1     prog\n");
	end(&session);
}

TEST(browse, verdict_is_above_the_first_page_of_all)
{
	const char *line = "1.00 s: 100.0% on a CPU: ";
	struct session session = begin(branching());
	struct buf text = {0};

	append_screen(&session, &text);
	assert_null(strstr(buf_str(&text), line)); /* there is no room */
	session.nr_lines = 24;
	expect_within(&session, line);
	press(&session, "\r");
	buf_clear(&text);
	append_screen(&session, &text);
	assert_null(strstr(buf_str(&text), line));
	press(&session, "\033/token\r"); /* a part */
	buf_clear(&text);
	append_screen(&session, &text);
	assert_null(strstr(buf_str(&text), line));
	press(&session, "\033");
	expect_within(&session, line);
	buf_release(&text);
	end(&session);
}

TEST(browse, enter_shows_callers_and_callees)
{
	struct session session = begin(branching());

	press(&session, "\r");
	expect(&session, "1.00 s of CPU time, 5 samples in 1.00 s: ./prog\n"
			 "callers and callees of token   Esc: back, h: keys, q: quit\n"
			 " total ms     %    ±  self ms     %  function\n"
			 ">      746  74.6 37.7      646  64.6    token\n"
			 "                                     called by\n"
			 "      700  70.0 38.3                 ├─▸ parse\n"
			 "       46   4.6 32.9                 └─▸ work\n"
			 "                                     calls\n"
			 "      100  10.0 34.5      100  10.0    get (inlined)\n");
	/* Words are passed over; an only caller is open. */
	press(&session, "j\r");
	expect(&session, "1.00 s of CPU time, 5 samples in 1.00 s: ./prog\n"
			 "callers and callees of token   Esc: back, h: keys, q: quit\n"
			 " total ms     %    ±  self ms     %  function\n"
			 "      746  74.6 37.7      646  64.6    token\n"
			 "                                     called by\n"
			 ">      700  70.0 38.3                 ├─▾ parse\n"
			 "      700  70.0 38.3                 │ ▾ main\n"
			 "      700  70.0 38.3                 │   start\n"
			 "       46   4.6 32.9                 └─▸ work\n"
			 "                                     calls\n"
			 "      100  10.0 34.5      100  10.0    get (inlined)\n");
	press(&session, "\r\033");
	expect(&session, "1.00 s of CPU time, 5 samples in 1.00 s: ./prog\n"
			 "by function, most self first   h: keys, i: notes, q: quit\n"
			 "self ms    %    ± total ms     %  function  location  module\n"
			 ">  646.0 64.6 38.9    746.0  74.6  token     p.c:1     prog\n"
			 "  250.0 25.0 37.6    250.0  25.0  write               libc.so\n"
			 "  100.0 10.0 34.5    100.0  10.0  get       i.h:1     prog\n"
			 "    4.0  0.4 31.4      4.0   0.4  rare      r.c:1     prog\n"
			 "    0.0  0.0 31.3   1000.0 100.0  start     s.c:1     prog\n"
			 "    0.0  0.0 31.3    950.0  95.0  main      m.c:1     prog\n"
			 "    0.0  0.0 31.3    700.0  70.0  parse     p.c:1     prog\n"
			 "    0.0  0.0 31.3    250.0  25.0  print     o.c:1     prog\n"
			 "    0.0  0.0 31.3     50.0   5.0  work      w.c:1     prog\n");
	end(&session);
}

TEST(browse, tree_opens_where_it_divides)
{
	struct session session = begin(branching());

	press(&session, "t"); /* what is hot is open, and only children are */
	expect(&session, "1.00 s of CPU time, 5 samples in 1.00 s: ./prog\n"
			 "call tree   Esc: back, h: keys, q: quit\n"
			 " total ms     %    ±  self ms     %  function\n"
			 ">     1000 100.0 31.3                 ▾ start\n"
			 "      950  95.0 33.0                 ├─▾ main\n"
			 "      700  70.0 38.3                 │ ├─▾ parse\n"
			 "      700  70.0 38.3      600  60.0  │ │ ▾ token\n"
			 "      100  10.0 34.5      100  10.0  │ │   get (inlined)\n"
			 "      250  25.0 37.6                 │ └─▾ print\n"
			 "      250  25.0 37.6      250  25.0  │     write\n"
			 "       50   5.0 33.0                 └─▸ work\n");
	press(&session, "j\r");
	expect(&session, "1.00 s of CPU time, 5 samples in 1.00 s: ./prog\n"
			 "call tree   Esc: back, h: keys, q: quit\n"
			 " total ms     %    ±  self ms     %  function\n"
			 "     1000 100.0 31.3                 ▾ start\n"
			 ">      950  95.0 33.0                 ├─▸ main\n"
			 "       50   5.0 33.0                 └─▸ work\n");
	press_key(&session, BROWSE_KEY_END);
	press_key(&session, BROWSE_KEY_RIGHT);
	expect(&session, "1.00 s of CPU time, 5 samples in 1.00 s: ./prog\n"
			 "call tree   Esc: back, h: keys, q: quit\n"
			 " total ms     %    ±  self ms     %  function\n"
			 "     1000 100.0 31.3                 ▾ start\n"
			 "      950  95.0 33.0                 ├─▸ main\n"
			 ">       50   5.0 33.0                 └─▾ work\n"
			 "       46   4.6 32.9       46   4.6    ├─  token\n"
			 "        4   0.4 31.4                   └─▸ … 1 more\n");
	press(&session, "jj\r");
	expect(&session, "1.00 s of CPU time, 5 samples in 1.00 s: ./prog\n"
			 "call tree   Esc: back, h: keys, q: quit\n"
			 " total ms     %    ±  self ms     %  function\n"
			 "     1000 100.0 31.3                 ▾ start\n"
			 "      950  95.0 33.0                 ├─▸ main\n"
			 "       50   5.0 33.0                 └─▾ work\n"
			 "       46   4.6 32.9       46   4.6    ├─  token\n"
			 ">        4   0.4 31.4        4   0.4    └─  rare\n");
	press_key(&session, BROWSE_KEY_LEFT); /* to the caller */
	press_key(&session, BROWSE_KEY_LEFT); /* which is closed */
	press_key(&session, BROWSE_KEY_UP);
	expect_within(&session, ">      950  95.0 33.0                 ├─▸ main\n"
				"       50   5.0 33.0                 └─▸ work\n");
	press_key(&session, BROWSE_KEY_LEFT);
	expect_within(&session, ">     1000 100.0 31.3                 ▾ start\n");
	press(&session, "f");
	expect_within(&session, "callers and callees of start");
	press(&session, "t");
	expect_within(&session, ">     1000 100.0 31.3                 ▾ start\n");
	press(&session, "t");
	expect_within(&session, "by function, most self first ");
	end(&session);
}

TEST(browse, filters_are_typed_and_taken_away)
{
	struct session session = begin(branching());

	press(&session, "/^prin");
	expect_within(&session, "function (regular expression): ^prin_\n");
	press(&session, "\177nt$\r");
	expect(&session,
	       "250 ms (25.0% of 1.00 s) of CPU time, 1 of 5 samples on a CPU in 1.00 s: ./prog\n"
	       "by function, most self first, function ^print$   h: keys, i: notes, q: quit\n"
	       "self ms     %    ± total ms     %  function  location  module\n"
	       ">  250.0 100.0 39.7    250.0 100.0  write               libc.so\n"
	       "    0.0   0.0 39.7    250.0 100.0  main      m.c:1     prog\n"
	       "    0.0   0.0 39.7    250.0 100.0  print     o.c:1     prog\n"
	       "    0.0   0.0 39.7    250.0 100.0  start     s.c:1     prog\n");
	press(&session, "n");
	expect_within(&session, ">    0.0   0.0 39.7    250.0 100.0  print ");
	press(&session, "n");
	expect_within(&session, "\nthere is none after it\n");
	press(&session, "/(\r");
	expect_within(&session, "\ninvalid regular expression '(': ");
	press(&session, "/main\033");
	expect_within(&session, "function ^print$ ");
	press(&session, "/nothing\r");
	expect(&session,
	       "0 ns (0.0% of 1.00 s) of CPU time, 0 of 5 samples on a CPU in 1.00 s: ./prog\n"
	       "by function, most self first, function nothing   h: keys, q: quit\n"
	       "nothing of this\n"
	       "Esc takes the filters away\n");
	press(&session, "jk\rSfTi\033\033\033");
	expect(&session, "1.00 s of CPU time, 5 samples in 1.00 s: ./prog\n"
			 "by function, most self first   h: keys, i: notes, q: quit\n"
			 "self ms    %    ± total ms     %  function  location  module\n"
			 ">  646.0 64.6 38.9    746.0  74.6  token     p.c:1     prog\n"
			 "  250.0 25.0 37.6    250.0  25.0  write               libc.so\n"
			 "  100.0 10.0 34.5    100.0  10.0  get       i.h:1     prog\n"
			 "    4.0  0.4 31.4      4.0   0.4  rare      r.c:1     prog\n"
			 "    0.0  0.0 31.3   1000.0 100.0  start     s.c:1     prog\n"
			 "    0.0  0.0 31.3    950.0  95.0  main      m.c:1     prog\n"
			 "    0.0  0.0 31.3    700.0  70.0  parse     p.c:1     prog\n"
			 "    0.0  0.0 31.3    250.0  25.0  print     o.c:1     prog\n"
			 "    0.0  0.0 31.3     50.0   5.0  work      w.c:1     prog\n");
	end(&session);
}

TEST(browse, a_thread_is_chosen)
{
	struct session session = begin(branching());

	press(&session, "TG");
	expect(&session, "1.00 s of CPU time, 5 samples in 1.00 s: ./prog\n"
			 "Enter chooses a thread   Esc: back, h: keys, q: quit\n"
			 "self ms    %    ± samples tid  thread pid  process\n"
			 "all threads\n"
			 "  950.0 95.0 33.0       3 100  prog   100  prog\n"
			 ">   50.0  5.0 33.0       2 101  worker 100  prog\n");
	press(&session, "\r");
	expect(&session,
	       "50.0 ms (5.0% of 1.00 s) of CPU time, 2 of 5 samples on a CPU in 1.00 s: ./prog\n"
	       "by function, most self first, thread 101   h: keys, i: notes, q: quit\n"
	       "self ms    %    ± total ms     %  function  location  module\n"
	       ">   46.0 92.0 40.0     46.0  92.0  token     p.c:1     prog\n"
	       "    4.0  8.0 40.0      4.0   8.0  rare      r.c:1     prog\n"
	       "    0.0  0.0 38.3     50.0 100.0  start     s.c:1     prog\n"
	       "    0.0  0.0 38.3     50.0 100.0  work      w.c:1     prog\n");
	press(&session, "bbbb"); /* by thread */
	expect_within(&session, "by thread, most self first, thread 101 ");
	press(&session, "Tg\r"); /* all of them */
	press(&session, "j");
	expect_within(&session, "by function");
	press(&session, "bbbb");
	press(&session, "\r"); /* the first one */
	expect_within(&session, "by function, most self first, thread 100 ");
	end(&session);
}

TEST(browse, modules_and_processes_lead_to_their_functions)
{
	struct made made = made_begin();
	struct session session;

	made_sample(&made, "main@m.c:7;a+b(1).so!odd", 100);
	made_sample(&made, "main@m.c:7;aab1.so!even", 100);
	made_thread(&made, 200, 200, "other");
	made_sample(&made, "start@m.c:7;a+b(1).so!odd", 50);
	session = begin(made_end(&made));
	press(&session, "bbb");
	expect_within(&session, ">  150.0 60.0 ");
	press(&session, "\r");
	expect_within(&session, "by function, most self first, module a+b(1).so ");
	expect_within(&session, "150 ms (60.0% of 250 ms) of CPU time");
	press(&session, "bbbbbbj\r");
	expect_within(&session, "by function, most self first, process 200, module a+b(1).so ");
	expect_within(&session, "50.0 ms (20.0% of 250 ms) of CPU time");
	press(&session, "bbbbb\r");
	expect_within(&session, "by function, most self first, process other, module a+b(1).so ");
	expect_within(&session, "50.0 ms (20.0% of 250 ms) of CPU time");
	press(&session, "\033");
	expect_within(&session, "by function, most self first   h: keys");
	end(&session);
}

TEST(browse, orders_metrics_and_rows_go_on)
{
	struct session session = begin(branching());

	press(&session, "s");
	expect_within(&session, "by function, most total first ");
	expect_within(&session, ">    0.0  0.0 31.3   1000.0 100.0  start");
	press(&session, "j");
	expect_within(&session, ">    0.0  0.0 31.3    950.0  95.0  main");
	press(&session, "s"); /* the same row is selected */
	expect_within(&session, "by function, sorted by name ");
	expect_within(&session, ">    0.0  0.0 31.3    950.0  95.0  main");
	press(&session, "s");
	expect_within(&session, "by function, most self first ");
	press(&session, "m");
	expect_within(&session, "1.00 s of wall time");
	expect_within(&session, ">    0.0  0.0 31.3    950.0  95.0  main");
	press(&session, "m"); /* nothing waited for a CPU, or was blocked */
	expect_within(&session, "5 samples in 1.00 s");
	press(&session, "m");
	expect_within(&session, "1.00 s elapsed");
	press(&session, "m");
	expect_within(&session, "1.00 s of CPU time");
	press(&session, "bb");
	expect_within(&session, "by file, ");
	press(&session, "ts");
	expect_within(&session, "trees have the most total first");
	end(&session);
}

TEST(browse, narrow_screens_keep_names)
{
	struct session session = begin(branching());

	session.view.columns = 40;
	session.nr_lines = 6;
	expect(&session, "1.00 s of CPU time, 5 samples in 1.00 s…\n"
			 "by function, most self first   h: keys\n"
			 "  self% total%  function\n"
			 ">   64.6   74.6  token\n"
			 "   25.0   25.0  write\n"
			 "   10.0   10.0  get\n");
	press_key(&session, BROWSE_KEY_PAGE_DOWN);
	press(&session, "j");
	expect(&session, "1.00 s of CPU time, 5 samples in 1.00 s…\n"
			 "by function, most self first   h: keys\n"
			 "  self% total%  function\n"
			 "   10.0   10.0  get\n"
			 ">    0.4    0.4  rare\n"
			 "         100.0  start\n");
	press(&session, "Gb");
	expect_within(&session, "by line, most self first");
	expect_within(&session, ">   64.6   64.6  p.c:20 token\n");
	session.nr_lines = 2; /* of a window that is hardly there */
	expect(&session, "1.00 s of CPU time, 5 samples in 1.00 s…\n"
			 "by line, most self first   h: keys\n");
	press(&session, "tj\r");
	session.nr_lines = 20;
	expect(&session, "1.00 s of CPU time, 5 samples in 1.00 s…\n"
			 "call tree   Esc: back, h: keys, q: quit\n"
			 " total%  self%  function\n"
			 "  100.0         ▾ start\n"
			 ">   95.0         ├─▸ main\n"
			 "    5.0         └─▸ work\n");
	end(&session);
}

/* Where the test runs there is no p.c: lines that cost something are shown without their text. */
TEST(browse, source_without_its_text)
{
	struct session session = begin(branching());

	press(&session, "S");
	expect(&session,
	       "1.00 s of CPU time, 5 samples in 1.00 s: ./prog\n"
	       "source file p.c not found: showing line numbers only (use --source-path OLD=NEW\n"
	       "if it has moved)\n"
	       "  self% total%  line  source\n"
	       "          60.0     3\n"
	       "          10.0     4\n"
	       ">   64.6   64.6    20\n"
	       "          10.0    21\n"
	       "          10.0        ↳ inlined get\n");
	press(&session, "n");
	expect_within(&session, "\np.c   Esc: back, h: keys, q: quit\n");
	press(&session, "G\r");
	expect_within(&session, "callers and callees of get ");
	press(&session, "\033\033/write\rS");
	expect_within(&session, "\nthe source lines of write are unknown\n");
	end(&session);
}

TEST(browse, names_of_a_target_are_escaped)
{
	struct made made = made_begin();
	struct session session;

	profile_add_command_word(made.profile, "./\033[2Jprog");
	made_sample(&made, "\033]0;x\007main@m.c:7;\342\200\256evil\nname@p.c:3", 1000);
	session = begin(made_end(&made));
	expect_within(&session, ": ./\\x1b[2Jprog\n");
	expect_within(&session, "\\xe2\\x80\\xaeevil\\nname");
	press(&session, "t");
	expect_within(&session, "▾ \\x1b]0\n");
	press(&session, "\033/\001\r\r");
	expect_within(&session, "callers and callees of ");
	end(&session);
}

TEST(browse, what_is_selected_and_open_survives_a_later_profile)
{
	struct session session = begin(branching());
	struct profile *later;
	struct browse_input input;

	press(&session, "jjtjj\rk"); /* closes parse() */
	expect_within(&session, ">      950  95.0 33.0                 ├─▾ main\n"
				"      700  70.0 38.3                 │ ├─▸ parse\n");
	later = branching_later();
	input = (struct browse_input){.profile = later};
	assert_int_equal(browse_show(session.browse, &input, NULL), 0);
	profile_free(session.profile);
	session.profile = later;
	expect(&session, "4.00 s of CPU time, 6 samples in 4.00 s: ./prog\n"
			 "call tree   Esc: back, h: keys, q: quit\n"
			 " total ms     %    ±  self ms     %  function\n"
			 "     4000 100.0 34.7                 ▾ start\n"
			 ">     3950  98.8 35.1                 ├─▾ main\n"
			 "     3000  75.0 40.0     3000  75.0  │ ├─  finish\n"
			 "      700  17.5 38.9                 │ ├─▸ parse\n"
			 "      250   6.2 36.4                 │ └─▸ print\n"
			 "       50   1.2 35.1                 └─▸ work\n");
	press(&session, "\033");
	expect_within(&session, ">  100.0  2.5 ");
	end(&session);
}

TEST(browse, deep_recursion_is_a_chain)
{
	struct made made = made_begin();
	struct session session;
	struct buf stack = {0};

	buf_append_str(&stack, "main@m.c:1");
	for (int i = 0; i < 3000; i++)
		buf_append_str(&stack, i % 2 ? ";odd@o.c:3" : ";even@e.c:3");
	made_sample(&made, buf_str(&stack), 1000);
	made_sample(&made, "main@m.c:1;even@e.c:3", 1000);
	buf_release(&stack);
	session = begin(made_end(&made));
	press(&session, "tG");
	expect_within(&session, ">     1000  50.0");
	press_key(&session, BROWSE_KEY_LEFT);
	press_key(&session, BROWSE_KEY_HOME);
	press(&session, "\r");
	expect_within(&session, "▸ main");
	end(&session);
}

TEST(browse, keys_are_listed_and_left)
{
	struct session session = begin(branching());

	session.nr_lines = 8;
	press(&session, "h");
	expect_within(&session, "\nq, Ctrl-C   quit\n");
	press(&session, "jjjj");
	expect_within(&session, "\nleft, right in trees");
	press(&session, "h");
	expect_within(&session, "by function, ");
	press(&session, "?q");
	assert_true(browse_is_over(session.browse));
	end(&session);
}

TEST(browse, far_away_pages_are_forgotten)
{
	struct session session = begin(branching());

	for (int i = 0; i < 50; i++)
		press(&session, "Gf\033GfTh");
	for (int i = 0; i < 50; i++)
		press(&session, "\033");
	press(&session, "g");
	expect(&session, "1.00 s of CPU time, 5 samples in 1.00 s: ./prog\n"
			 "by function, most self first   h: keys, i: notes, q: quit\n"
			 "self ms    %    ± total ms     %  function  location  module\n"
			 ">  646.0 64.6 38.9    746.0  74.6  token     p.c:1     prog\n"
			 "  250.0 25.0 37.6    250.0  25.0  write               libc.so\n"
			 "  100.0 10.0 34.5    100.0  10.0  get       i.h:1     prog\n"
			 "    4.0  0.4 31.4      4.0   0.4  rare      r.c:1     prog\n"
			 "    0.0  0.0 31.3   1000.0 100.0  start     s.c:1     prog\n"
			 "    0.0  0.0 31.3    950.0  95.0  main      m.c:1     prog\n"
			 "    0.0  0.0 31.3    700.0  70.0  parse     p.c:1     prog\n"
			 "    0.0  0.0 31.3    250.0  25.0  print     o.c:1     prog\n"
			 "    0.0  0.0 31.3     50.0   5.0  work      w.c:1     prog\n");
	assert_false(browse_is_over(session.browse));
	end(&session);
}

/* Columns of the widest line. */
static size_t widest(const struct buf *text)
{
	struct buf line = {0};
	size_t most = 0;

	for (size_t i = 0; i < text->nr_bytes; i++) {
		if (text->bytes[i] != '\n') {
			buf_append_byte(&line, text->bytes[i]);
			continue;
		}
		if (text_columns(buf_str(&line)) > most)
			most = text_columns(buf_str(&line));
		buf_clear(&line);
	}
	buf_release(&line);
	return most;
}

static void look_at_another(struct session *session, bool is_later)
{
	struct profile *other = is_later ? branching_later() : branching();
	const struct browse_input input = {.profile = other, .window_ns = is_later ? 300000000 : 0};

	assert_int_equal(browse_show(session->browse, &input, NULL), 0);
	profile_free(session->profile);
	session->profile = other;
}

/* Whatever is pressed, on whichever screen: what is drawn fits it. */
TEST(browse, any_keys_on_any_screen)
{
	static const char bytes[] = "jkG\r\r\033tfSsbmnNTih";
	static const char *const filters[] = {"/main\r", "/\r", "/(\r", "/parse\r",
					      "/nothing\r\033"};
	struct session session = begin(branching());
	uint32_t random = 1;

	for (int i = 0; i < 20000; i++) {
		struct browse_screen screen = {.selected = BROWSE_NO_LINE};

		random = random * 1664525 + 1013904223;
		if (random >> 30 == 3)
			press_key(&session, BROWSE_KEY_UP + (int)((random >> 8) % 9));
		else
			press_key(&session, bytes[(random >> 8) % (sizeof(bytes) - 1)]);
		if (random >> 26 == 5)
			press(&session, filters[(random >> 8) % 5]);
		if (random >> 24 == 0)
			look_at_another(&session, random & 0x10000);
		if (random >> 28 == 1) {
			session.view.columns = 40 + (random >> 8) % 100;
			session.nr_lines = 1 + (random >> 16) % 30;
		}
		browse_draw(session.browse, &session.view, session.nr_lines, &screen);
		if (widest(&screen.text) > session.view.columns)
			assert_string_equal(buf_str(&screen.text), "too wide");
		buf_release(&screen.text);
	}
	end(&session);
}

/* What the command line leaves out of stacks stays so with the filters of keys. */
TEST(browse, stacks_begin_and_end_as_asked_for)
{
	static const char *const run = "^run$", *const hidden = "^(run|leaf)$";
	const struct filter shaped = {.shape = {.focus = {&run, 1}, .hide = {&hidden, 1}}};
	struct made made = made_begin();
	struct profile *profile;
	struct browse_options options;
	struct browse_input input;
	struct weighed_fixture weighed;
	struct session session;

	made_sample(&made, "main;run;work;leaf", 100);
	made_sample(&made, "main;run", 50);
	made_sample(&made, "main;other", 25);
	profile = made_end(&made);
	weighed = weighed_new(profile, &shaped, METRIC_CPU);
	options = options_of(profile);
	options.filter = &shaped;
	session = (struct session){.profile = profile,
				   .browse = browse_new(&options),
				   .view = {.columns = 80, .names = NAME_SHORT},
				   .nr_lines = 12};
	input = (struct browse_input){.profile = profile, .weights = weighed.weights};
	assert_int_equal(browse_show(session.browse, &input, NULL), 0);
	expect_within(&session, "100.0 66.7 ");
	expect_within(&session, " [hidden]");
	press(&session, "m");
	expect_within(&session, "150 ms (85.7% of 175 ms) of wall time");
	expect_within(&session, " [hidden]");
	browse_free(session.browse);
	weighed_free(&weighed);
	profile_free(profile);
}

TEST(browse, metrics_of_memory_go_on_and_divide)
{
	struct browse_wishes wishes = {.metric = METRIC_LIVE, .sort = "self"};
	const int rows[] = {BY_LINE,	BY_FILE, BY_MODULE,  BY_THREAD,
			    BY_PROCESS, BY_PID,	 BY_LIFETIME};

	wishes.metrics = 1U << METRIC_CPU | 1U << METRIC_LIVE | 1U << METRIC_LEAKED;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		browse_wishes_next_dimension(&wishes);
		assert_int_equal(wishes.by, rows[i]);
	}
	wishes.has_marks = true;
	browse_wishes_next_dimension(&wishes);
	assert_int_equal(wishes.by, BY_MARK);
	wishes.by = BY_LIFETIME;
	browse_wishes_next_metric(&wishes);
	assert_int_equal(wishes.metric, METRIC_LEAKED);
	assert_int_equal(wishes.by, BY_LIFETIME);
	browse_wishes_next_metric(&wishes); /* which has no lifetime */
	assert_int_equal(wishes.metric, METRIC_CPU);
	assert_int_equal(wishes.by, BY_FUNCTION);
	wishes.metrics = 1U << METRIC_CPU;
	browse_wishes_next_metric(&wishes);
	assert_int_equal(wishes.metric, METRIC_CPU);
}

TEST(browse, calls_are_an_order_where_they_are_counted)
{
	struct browse_wishes wishes = {.metric = METRIC_CPU, .sort = "name"};

	browse_wishes_next_sort(&wishes, false);
	assert_string_equal(wishes.sort, "self");
	wishes.sort = "name";
	browse_wishes_next_sort(&wishes, true);
	assert_string_equal(wishes.sort, "calls");
	browse_wishes_next_dimension(&wishes);
	assert_string_equal(wishes.sort, "self");
	wishes.sort = "module,line"; /* as the command line has it */
	browse_wishes_next_sort(&wishes, true);
	assert_string_equal(wishes.sort, "self");
}

TEST(browse, input_is_bounded)
{
	struct browse_prompt prompt;

	browse_prompt_begin(&prompt, "");
	for (int i = 0; i < 1000; i++)
		assert_int_equal(browse_prompt_key(&prompt, 'x'), BROWSE_PROMPT_OPEN);
	assert_int_equal(strlen(prompt.text), BROWSE_INPUT_MAX - 1);
	browse_prompt_key(&prompt, 0x15); /* Ctrl-U */
	browse_prompt_key(&prompt, 0xc3);
	browse_prompt_key(&prompt, 0xa9);
	browse_prompt_key(&prompt, BROWSE_KEY_UP);
	assert_string_equal(prompt.text, "\303\251");
	browse_prompt_key(&prompt, BROWSE_KEY_DELETE); /* a character, not a byte */
	assert_string_equal(prompt.text, "");
	browse_prompt_key(&prompt, BROWSE_KEY_BACKSPACE);
	assert_int_equal(browse_prompt_key(&prompt, BROWSE_KEY_CTRL_C), BROWSE_PROMPT_LEFT);
	assert_false(prompt.is_open);
}

static void expect_key(const char *bytes, int key, unsigned int nr_used)
{
	unsigned int nr;

	assert_int_equal(browse_key_decode(bytes, (unsigned int)strlen(bytes), &nr), key);
	assert_int_equal(nr, nr_used);
}

TEST(browse, keys_of_several_bytes)
{
	expect_key("\033[A", BROWSE_KEY_UP, 3);
	expect_key("\033OBj", BROWSE_KEY_DOWN, 3);
	expect_key("\033[5~q", BROWSE_KEY_PAGE_UP, 4);
	expect_key("\033[1;5Cq", BROWSE_KEY_OTHER, 6);
	expect_key("\033[12", BROWSE_KEY_OTHER, 4);
	expect_key("\033x", BROWSE_KEY_OTHER, 2);
	expect_key("\033\033", BROWSE_KEY_ESCAPE, 1);
	expect_key("\033", BROWSE_KEY_ESCAPE, 1);
	expect_key("\303\251", 0xc3, 1);
}

TEST(browse, selected_line_is_reversed_as_a_whole)
{
	const struct view view = {.columns = 10, .colour = true};
	struct browse_screen screen = {.selected = 1};
	struct buf out = {0};

	buf_append_str(&screen.text, "one\n");
	style_append(&screen.text, &view, STYLE_HOT, "20.0");
	style_append(&screen.text, &view, STYLE_PLAIN, " two");
	buf_append_byte(&screen.text, '\n');
	style_append(&screen.text, &view, STYLE_DIM, "three");
	buf_append_byte(&screen.text, '\n');
	browse_screen_append_ansi(&out, &screen, view.columns);
	assert_string_equal(buf_str(&out), "one\n"
					   "\033[7m20.0 two  \033[0m\n"
					   "\033[2mthree\033[0m\n");
	buf_release(&out);
	buf_release(&screen.text);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/escape.h"
#include "base/sink.h"
#include "calltree/expand.h"
#include "calltree/find.h"
#include "calltree/tree.h"
#include "calltree/weights.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"
#include "view/style.h"
#include "view/tree_counts.h"
#include "view/tree_json.h"
#include "view/tree_text.h"
#include "view/tree_walk.h"

/* Of the functions whose name begins with an 'r'. */
static struct tree *callers_of_r(const struct weights *weights)
{
	const struct expansion *expansion = weights->selection->expansion;
	bool *wanted = calloc(expansion->nr_labels, sizeof(*wanted));
	struct tree *tree;

	for (uint32_t i = 0; i < expansion->nr_labels; i++) {
		struct buf name = {0};

		label_append_name(&name, expansion, i, NAME_SHORT);
		wanted[i] = buf_str(&name)[0] == 'r';
		buf_release(&name);
	}
	tree = tree_new_callers(weights, wanted);
	free(wanted);
	return tree;
}

/* A tree of a profile as text of 80 columns, or as JSON. */
static void expect_of(struct tree *(*make)(const struct weights *), const struct profile *profile,
		      const struct tree_limits *limits, bool json, const char *expected)
{
	const struct view view = {.columns = 80, .names = NAME_SHORT};
	struct weighed_fixture weighed = weighed_new(profile, NULL, METRIC_SAMPLES);
	struct tree *tree;
	struct sink sink = SINK_MEMORY;

	tree = make(weighed.weights);
	if (json)
		tree_print_json(tree, limits, &sink);
	else
		tree_print_text(tree, &view, limits, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	tree_free(tree);
	weighed_free(&weighed);
}

static struct tree *folded(const struct weights *weights)
{
	return tree_new_as(weights, &(struct tree_request){.is_folded = true});
}

static void expect(const struct profile *profile, const struct tree_limits *limits, bool json,
		   const char *expected)
{
	expect_of(tree_new, profile, limits, json, expected);
}

static void add(struct made *made, unsigned int nr, const char *stack)
{
	made_sample(made, stack, 1)->nr = nr;
}

static struct profile *branching(void)
{
	struct made made = made_begin();

	add(&made, 500, "start;main;work@a.c:1+square@v.h:3;std::sort<int*>(int*, int*)");
	add(&made, 200, "start;main;fib;fib;fib");
	add(&made, 100, "start;main;fib;fib");
	add(&made, 150, "start;main;read");
	add(&made, 3, "start;main;a");
	add(&made, 4, "start;main;b");
	add(&made, 43, "crunch");
	made.profile->samples[6].end = STACK_END_NO_CFI;
	return made_end(&made);
}

TEST(view, tree_branches_only_where_time_divides)
{
	const struct tree_limits limits = {.min_percent = 0.5};
	struct profile *profile = branching();

	expect(profile, &limits, false,
	       "   total     %    \xc2\xb1    self     %  function\n"
	       "     957  95.7  1.3                ├─ start\n"
	       "     957  95.7  1.3                │  main\n"
	       "     500  50.0  3.1                │  ├─ work\n"
	       "     500  50.0  3.1                │  │  square (inlined)\n"
	       "     500  50.0  3.1     500  50.0  │  │  std::sort\n"
	       "     300  30.0  2.8                │  ├─ fib\n"
	       "     300  30.0  2.8     100  10.0  │  │  fib\n"
	       "     200  20.0  2.5     200  20.0  │  │  fib\n"
	       "     150  15.0  2.2     150  15.0  │  ├─ read\n"
	       "       7   0.7  0.5                │  └─ … 2 more\n"
	       "      43   4.3  1.3                └─ [truncated: no unwind information]\n"
	       "      43   4.3  1.3      43   4.3     crunch\n");
	profile_free(profile);
}

TEST(view, tree_has_the_places_of_functions_of_scripts)
{
	const struct tree_limits limits = {.min_percent = 0.5};
	struct made made = made_begin();

	made_sample(&made, "main;app.py!<module>@/srv/app.py:9;app.py!run@/srv/app.py:3;sqrt", 4);
	expect(made_end(&made), &limits, false,
	       "   total     %    \xc2\xb1    self     %  function\n"
	       "       1 100.0 39.7                main\n"
	       "       1 100.0 39.7                <module> (app.py:1)\n"
	       "       1 100.0 39.7                run (app.py:1)\n"
	       "       1 100.0 39.7       1 100.0  sqrt\n");
	profile_free(made.profile);
}

TEST(view, tree_depth_is_limited)
{
	const struct tree_limits limits = {.max_depth = 2, .min_percent = 5};
	struct profile *profile = branching();

	expect(profile, &limits, false,
	       "   total     %    \xc2\xb1    self     %  function\n"
	       "     957  95.7  1.3                start\n"
	       "     957  95.7  1.3                main\n"
	       "     957  95.7  1.3                … 5 more\n");
	profile_free(profile);
}

/* Nobody looks for what callers did themselves, and their own time is elsewhere. */
TEST(view, tree_of_callers_has_no_self)
{
	struct profile *profile = branching();
	const struct tree_limits limits = {.max_depth = 0};

	expect_of(callers_of_r, profile, &limits, false,
		  "   total     %    ±  function\n"
		  "     150  15.0  2.2  read\n"
		  "     150  15.0  2.2  main\n"
		  "     150  15.0  2.2  start\n");
	profile_free(profile);
}

TEST(view, tree_json_lists_parents_first)
{
	const struct tree_limits limits = {.max_depth = 2, .min_percent = 50};
	struct profile *profile = branching();

	expect(profile, &limits, true,
	       "{\"version\":1,\"metric\":\"samples\",\"unit\":\"samples\",\"samples\":1000,"
	       "\"command\":[],\"nodes\":["
	       "{\"parent\":null,\"function\":\"start\",\"file\":null,\"module\":\"/bin/prog\","
	       "\"inlined\":false,\"self_samples\":0,\"total_samples\":957,"
	       "\"total_pct\":95.7,\"total_ci_pct\":1.267,\"calls\":null,\"calls_shared\":false},"
	       "{\"parent\":0,\"function\":\"main\",\"file\":null,\"module\":\"/bin/prog\","
	       "\"inlined\":false,\"self_samples\":0,\"total_samples\":957,"
	       "\"total_pct\":95.7,\"total_ci_pct\":1.267,\"calls\":null,\"calls_shared\":false}]}"
	       "\n");
	profile_free(profile);
}

/* A narrow terminal and a very deep stack: art and names give way, no line is too long. */
TEST(view, tree_never_exceeds_its_width)
{
	const struct view view = {.columns = 60, .names = NAME_FULL};
	const struct tree_limits limits = {.min_percent = 0};
	struct made made = made_begin();
	struct stack_id stack = STACK_EMPTY;
	struct weighed_fixture weighed;
	struct tree *tree;
	struct sink sink = SINK_MEMORY;

	for (int i = 0; i < 40; i++) {
		char name[64], leaf[] = "leaf";

		snprintf(name, sizeof(name), "a_function_with_quite_a_long_name_%d", i);
		stack = stack_trie_intern(made.profile->stacks, stack,
					  made_frame(made.profile, name));
		made_sample(&made, "", 1)->stack = stack;
		made_sample(&made, "", 1)->stack = stack_trie_intern(
			made.profile->stacks, stack, made_frame(made.profile, leaf));
	}
	weighed = weighed_new(made_end(&made), NULL, METRIC_CPU);
	tree = tree_new(weighed.weights);
	tree_print_text(tree, &view, &limits, &sink);
	buf_append_byte(&sink.pending, 0);
	for (char *line = (char *)sink.pending.bytes; *line; line += strlen(line) + 1) {
		*strchr(line, '\n') = '\0';
		assert_true(text_columns(line) <= 60);
	}
	sink_release(&sink);
	tree_free(tree);
	weighed_free(&weighed);
	profile_free(made.profile);
}

/*
 * `parse` is called by main and by `load`, `hash` by both, too, of which main's calls are counted
 * by the call; of `emit` and `rare` no sample was taken, and `emit` is called in `load` alone.
 */
static struct profile *counted(void)
{
	struct made made = made_begin();

	add(&made, 600, "main@m.c:3;parse@p.c:2;hash@h.c:2");
	add(&made, 200, "main@m.c:4;load@l.c:4;parse@p.c:2");
	add(&made, 100, "main@m.c:4;load@l.c:5;hash@h.c:2");
	add(&made, 100, "main@m.c:5;hash@h.c:2");
	made_count(&made, "main@m.c:1", NULL, 1);
	made_count(&made, "parse@p.c:1", NULL, 15360);
	made_count(&made, "hash@h.c:1", NULL, 98304);
	made_count(&made, "rare@r.c:1", NULL, 3);
	made_count(&made, "main@m.c:5", "hash@h.c:1", 12);
	made_count(&made, "load@l.c:7", "emit@e.c:1", 5);
	made_count(&made, "load@l.c:4", "parse@p.c:1", 360);
	made_count(&made, "load@l.c:8", "", 77);
	return made_end(&made);
}

/* The callers, or what it calls, of one function; NULL: the whole tree. */
static void expect_counts_of(struct profile *profile, bool is_folded, const char *function,
			     bool callers, const struct tree_limits *limits, const char *expected)
{
	const struct view view = {.columns = 80};
	struct weighed_fixture weighed = weighed_new(profile, NULL, METRIC_CPU);
	struct tree *tree;
	struct sink sink = SINK_MEMORY;
	bool *wanted = NULL;

	if (function)
		assert_int_equal(find_labels(weighed.expansion, function, &wanted, NULL), 0);
	tree = tree_new_as(weighed.weights,
			   &(struct tree_request){.callers_of = callers ? wanted : NULL,
						  .callees_of = callers ? NULL : wanted,
						  .is_folded = is_folded});
	if (function)
		tree_print_text(tree, &view, limits, &sink);
	else
		tree_print_counts(tree, &view, limits, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	tree_free(tree);
	free(wanted);
	weighed_free(&weighed);
	profile_free(profile);
}

static void expect_counts(const char *function, bool callers, const struct tree_limits *limits,
			  const char *expected)
{
	expect_counts_of(counted(), false, function, callers, limits, expected);
}

TEST(view, counts_of_recursion_are_those_of_others_and_its_own)
{
	static const char *const expected[] = {
		"function calls   total     %\n"
		"main           1000 µs 100.0\n"
		"  walk      42 1000 µs 100.0\n"
		"    leaf     7 1000 µs 100.0\n",
		"function     calls   total     %\n"
		"main               1000 µs 100.0\n"
		"  walk (× 3)    42 1000 µs 100.0\n"
		"    leaf         7 1000 µs 100.0\n",
	};

	for (int is_deep = 0; is_deep < 2; is_deep++) {
		struct made made = made_begin();

		add(&made, 100,
		    is_deep ? "main@m.c:3;walk@w.c:5;walk@w.c:5;walk@w.c:6;leaf@w.c:1"
			    : "main@m.c:3;walk@w.c:6;leaf@w.c:1");
		made_count(&made, "main@m.c:3", "walk@w.c:1", 2);
		made_count(&made, "walk@w.c:5", "walk@w.c:1", 40);
		made_count(&made, "walk@w.c:6", "leaf@w.c:1", 7);
		expect_counts_of(made_end(&made), true, NULL, false, &(struct tree_limits){0},
				 expected[is_deep]);
	}
}

TEST(view, tree_of_counts)
{
	expect_counts(NULL, false, &(struct tree_limits){0},
		      "function                calls   total     %\n"
		      "main                        1 4000 µs 100.0\n"
		      "  load                        2000 µs  50.0\n"
		      "    hash             (98,304) 1000 µs  25.0\n"
		      "    parse                 360 1000 µs  25.0\n"
		      "    [indirect calls]       77\n"
		      "    emit                    5\n"
		      "  parse              (15,360) 1000 µs  25.0\n"
		      "    hash             (98,304) 1000 µs  25.0\n"
		      "  hash                     12 1000 µs  25.0\n"
		      "[without samples]\n"
		      "  rare                      3\n");
	expect_counts(NULL, false, &(struct tree_limits){.max_depth = 2, .min_percent = 20},
		      "function             calls   total     %\n"
		      "main                     1 4000 µs 100.0\n"
		      "  load                     2000 µs  50.0\n"
		      "    … 4 more               2000 µs  50.0\n"
		      "  parse           (15,360) 1000 µs  25.0\n"
		      "    … 1 more               1000 µs  25.0\n"
		      "  hash                  12 1000 µs  25.0\n"
		      "[without samples]\n"
		      "  rare                   3\n");
}

TEST(view, callees_have_exact_edges)
{
	expect_counts("load", false, &(struct tree_limits){.calls = true},
		      "total µs     %    ± self µs     %         calls  function\n"
		      "    2000  50.0  4.0                              load\n"
		      "    1000  25.0  4.0    1000  25.0      (98,304)  ├─ hash\n"
		      "    1000  25.0  3.5    1000  25.0           360  ├─ parse\n"
		      "                                             77  ├─ [indirect calls]\n"
		      "                                              5  └─ emit\n");
	expect_counts("load", false, &(struct tree_limits){.max_depth = 1, .calls = true},
		      "total µs     %    ± self µs     %         calls  function\n"
		      "    2000  50.0  4.0                              load\n"
		      "    2000  50.0  4.0                              … 4 more\n");
	expect_counts("load", false, &(struct tree_limits){0},
		      "total µs     %    ± self µs     %  function\n"
		      "    2000  50.0  4.0                load\n"
		      "    1000  25.0  4.0    1000  25.0  ├─ hash\n"
		      "    1000  25.0  3.5    1000  25.0  └─ parse\n");
}

TEST(view, callers_have_exact_edges)
{
	expect_counts("parse", true, &(struct tree_limits){.calls = true},
		      "total µs     %    ±         calls  function\n"
		      "    2000  50.0  4.0        15,360  parse\n"
		      "    1000  25.0  3.5           360  ├─ load\n"
		      "    1000  25.0  3.5                │  main\n"
		      "    1000  25.0  3.5                └─ main\n");
	expect_counts("emit", true, &(struct tree_limits){.calls = true},
		      "total µs     %    ±         calls  function\n"
		      "                                   emit\n"
		      "                                5  load\n");
	expect_counts("rare", true, &(struct tree_limits){.calls = true, .min_percent = 5},
		      "total µs     %    ±         calls  function\n"
		      "                                3  rare\n");
}

TEST(tree_text, recursion_is_one_line)
{
	struct made made = made_begin();
	const struct tree_limits all = {.min_percent = 0};
	struct profile *profile;

	add(&made, 1, "main;walk;walk;walk;leaf");
	add(&made, 2, "main;walk;leaf");
	add(&made, 3, "main;walk;walk");
	add(&made, 4, "main;odd;even;odd;even");
	profile = made_end(&made);
	expect_of(folded, profile, &all, false,
		  "   total     %    ±    self     %  function\n"
		  "      10 100.0 13.9                main\n"
		  "       6  60.0 26.0       3  30.0  ├─ walk (× 3)\n"
		  "       3  30.0 24.8       3  30.0  │  leaf\n"
		  "       4  40.0 26.0                └─ odd\n"
		  "       4  40.0 26.0                   even\n"
		  "       4  40.0 26.0                   odd\n"
		  "       4  40.0 26.0       4  40.0     even\n");
	profile_free(profile);
}

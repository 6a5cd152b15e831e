// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables and trees of memory, from recorded blocks to text. */
#include "base/sink.h"
#include "calltree/diff.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/leaks.h"
#include "calltree/lifetime.h"
#include "calltree/tree.h"
#include "calltree/weights.h"
#include "profile/heap_lives.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "view/diff_text.h"
#include "view/flat_fields.h"
#include "view/flat_text.h"
#include "view/leaks_text.h"
#include "view/summary.h"
#include "view/tree_text.h"
#include "view/tree_walk.h"

#define KIB UINT64_C(1024)
#define MS  UINT64_C(1000)

/*
 * Each block is recorded. cache() keeps 3 MiB, a buffer of 8 MiB lives from 1 to 6 ms, and
 * parse() frees four texts of 1 KiB after 2 us each, but keeps one.
 *
 *	ms      0    1    2    3    4    5    6    7
 *	cache   1M ------- 1M ------- 1M -------------
 *	buffer  .    8M --------------------- 8M     .
 *	parse   .    .    .    .    .    .    1K x 5
 */
static struct profile *made_up(void)
{
	struct made made = made_begin();

	profile_add_command_word(made.profile, "./prog");
	made_block(&made, "main@/src/m.c:5;cache@/src/c.c:20", KIB * KIB, 0, 0);
	made_block(&made, "main@/src/m.c:6;buffer@/src/b.c:9", 8 * KIB * KIB, 0, MS)->freed_ns =
		6 * MS * SAMPLE_TIME_GRAIN_NS;
	made_block(&made, "main@/src/m.c:5;cache@/src/c.c:20", KIB * KIB, 0, MS);
	made_block(&made, "main@/src/m.c:5;cache@/src/c.c:20", KIB * KIB, 0, 2 * MS);
	for (int i = 0; i < 5; i++) {
		struct profile_allocation *text =
			made_block(&made, "main@/src/m.c:8;parse@/src/p.c:3;copy@/src/p.c:7", KIB,
				   0, i ? 10 : 2 * MS);

		if (i < 4)
			text->freed_ns = text->time_ns + 2 * SAMPLE_TIME_GRAIN_NS;
	}
	return made_end(&made);
}

static struct weights *weigh(struct profile *profile, const struct filter *filter,
			     enum metric metric)
{
	struct expansion *expansion = expansion_new(profile, false);
	struct selection *selection;

	assert_int_equal(selection_new(expansion, filter, &selection, NULL), 0);
	return weights_new(selection, metric);
}

static void release(struct weights *weights)
{
	const struct selection *selection = weights->selection;
	const struct expansion *expansion = selection->expansion;

	weights_free(weights);
	expansion_free((struct expansion *)(uintptr_t)expansion);
	selection_free((struct selection *)(uintptr_t)selection);
}

static void expect_table(const struct filter *filter, enum metric metric, const char *expected)
{
	const struct view view = {.columns = 90};
	struct profile *profile = made_up();
	struct weights *weights = weigh(profile, filter, metric);
	struct flat *flat = flat_new(weights, BY_FUNCTION);
	struct sink sink = SINK_MEMORY;

	summary_print_heading(weights, &view, &sink);
	flat_print_text(flat, &view, 0, &sink);
	summary_print_notes(weights, &view, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	flat_free(flat);
	release(weights);
	profile_free(profile);
}

static const struct filter everything = {.from_ns = 0};

TEST(memory, allocated_by_function)
{
	expect_table(&everything, METRIC_ALLOC,
		     "11.0 MiB allocated in 9 blocks in 6.18 ms: ./prog\n"
		     "self MiB    %   ± total MiB     % blocks  function  location  module\n"
		     "     8.0 72.7 0.0       8.0  72.7      1  buffer    b.c:1     prog\n"
		     "     3.0 27.3 0.0       3.0  27.3      3  cache     c.c:1     prog\n"
		     "     0.0 <0.1 0.0       0.0  <0.1      5  copy      p.c:1     prog\n"
		     "     0.0  0.0 0.0      11.0 100.0      0  main      m.c:1     prog\n"
		     "     0.0  0.0 0.0       0.0  <0.1      0  parse     p.c:1     prog\n");
}

TEST(memory, what_is_copied_of_stacks_is_no_matter_of_frequency)
{
	const struct view view = {.columns = 70};
	struct made made = made_begin();
	struct profile *profile;
	struct weights *weights;
	struct sink sink = SINK_MEMORY;

	made_block(&made, "main@m.c:1;deep@m.c:2", 2048, 0, 1)->end = STACK_END_BAD_MEMORY;
	profile = made_end(&made);
	weights = weigh(profile, &everything, METRIC_ALLOC);
	summary_print_notes(weights, &view, &sink);
	assert_string_equal(
		buf_str(&sink.pending),
		"\nnote: 100.0% of the memory is in stacks that do not reach the root:\n"
		"      memory not copied (profc copies as much as walks needed a tenth\n"
		"      of a second ago, up to 64 KiB)\n");
	sink_release(&sink);
	release(weights);
	profile_free(profile);
}

TEST(memory, who_asks_operator_new_is_in_the_tree)
{
	const struct view view = {.columns = 70};
	struct made made = made_begin();
	struct profile *profile;
	struct weights *weights;
	struct flat *flat;
	struct sink sink = SINK_MEMORY;

	made_block(&made, "main@m.c:1;often@m.c:2;operator new(unsigned long)@n.c:1", 2048, 1, 1);
	made_block(&made, "main@m.c:1;seldom@m.c:3", 1024, 1, 1);
	profile = made_end(&made);
	weights = weigh(profile, &everything, METRIC_ALLOC);
	flat = flat_new(weights, BY_FUNCTION);
	flat_print_notes(flat, &view, &sink);
	assert_string_equal(
		buf_str(&sink.pending),
		"\nnote: 66.7% is allocated by operator new for its callers: see --tree\n");
	sink_release(&sink);
	flat_free(flat);
	release(weights);
	profile_free(profile);
}

TEST(memory, blocks_by_function)
{
	expect_table(&everything, METRIC_ALLOCS,
		     "9 blocks allocated in 6.18 ms: ./prog\n"
		     "self    %   ± total     %  function  location  module\n"
		     "   5 55.6 0.0     5  55.6  copy      p.c:1     prog\n"
		     "   3 33.3 0.0     3  33.3  cache     c.c:1     prog\n"
		     "   1 11.1 0.0     1  11.1  buffer    b.c:1     prog\n"
		     "   0  0.0 0.0     9 100.0  main      m.c:1     prog\n"
		     "   0  0.0 0.0     5  55.6  parse     p.c:1     prog\n");
}

/* A row of the file may be of several blocks, where all are recorded: not one of them is missing.
 */
TEST(memory, blocks_in_one_row_are_all_recorded)
{
	const struct view view = {.columns = 90};
	struct profile *profile = made_up();
	struct weights *weights;
	const struct weights *side;
	struct diff *diff;
	struct sink sink = SINK_MEMORY;

	profile->heap.allocations[0].nr_more = 2;
	weights = weigh(profile, &everything, METRIC_ALLOC);
	summary_print_heading(weights, &view, &sink);
	assert_string_equal(buf_str(&sink.pending),
			    "11.0 MiB allocated in 11 blocks in 6.18 ms: ./prog\n");
	assert_int_equal(weights->total.samples, 11);
	sink_release(&sink);
	side = weights;
	diff = diff_new(&(struct diff_request){
		.old_runs = &side, .new_runs = &side, .nr_old = 1, .nr_new = 1});
	diff_print_text(diff, &view, &(struct diff_limits){.rows = 1}, &sink);
	assert_non_null(strstr(buf_str(&sink.pending),
			       "old: 11.0 MiB allocated, 11 blocks recorded: ./prog\n"));
	sink_release(&sink);
	diff_free(diff);
	release(weights);
	profile_free(profile);
}

TEST(memory, alive_at_a_time)
{
	const struct filter at = {
		.heap = {.at = FILTER_AT_TIME, .at_ns = 2 * MS * SAMPLE_TIME_GRAIN_NS}};

	expect_table(&at, METRIC_LIVE,
		     "10.0 MiB alive at 2.05 ms in 3 blocks in 6.18 ms: ./prog\n"
		     "self MiB    %   ± total MiB     % blocks  function  location  module\n"
		     "     8.0 80.0 0.0       8.0  80.0      1  buffer    b.c:1     prog\n"
		     "     2.0 20.0 0.0       2.0  20.0      2  cache     c.c:1     prog\n"
		     "     0.0  0.0 0.0      10.0 100.0      0  main      m.c:1     prog\n");
}

TEST(memory, alive_at_the_peak)
{
	const struct filter at_peak = {.heap = {.at = FILTER_AT_PEAK}};
	static const char expected[] =
		"11.0 MiB alive at the peak at 4.10 ms in 4 blocks in 6.18 ms: ./prog\n"
		"self MiB    %   ± total MiB     % blocks  function  location  module\n"
		"     8.0 72.7 0.0       8.0  72.7      1  buffer    b.c:1     prog\n"
		"     3.0 27.3 0.0       3.0  27.3      3  cache     c.c:1     prog\n"
		"     0.0  0.0 0.0      11.0 100.0      0  main      m.c:1     prog\n";

	expect_table(&everything, METRIC_PEAK, expected);
	expect_table(&at_peak, METRIC_LIVE,
		     "11.0 MiB alive at 4.10 ms in 4 blocks in 6.18 ms: ./prog\n"
		     "self MiB    %   ± total MiB     % blocks  function  location  module\n"
		     "     8.0 72.7 0.0       8.0  72.7      1  buffer    b.c:1     prog\n"
		     "     3.0 27.3 0.0       3.0  27.3      3  cache     c.c:1     prog\n"
		     "     0.0  0.0 0.0      11.0 100.0      0  main      m.c:1     prog\n");
}

TEST(memory, not_freed)
{
	expect_table(&everything, METRIC_LEAKED,
		     "3.00 MiB not freed in 4 blocks in 6.18 ms: ./prog\n"
		     "self KiB     %   ± total KiB     % blocks  function  location  module\n"
		     "    3072 100.0 0.0      3072 100.0      3  cache     c.c:1     prog\n"
		     "       1  <0.1 0.0         1  <0.1      1  copy      p.c:1     prog\n"
		     "       0   0.0 0.0      3073 100.0      0  main      m.c:1     prog\n"
		     "       0   0.0 0.0         1  <0.1      0  parse     p.c:1     prog\n");
}

TEST(memory, freed_soon)
{
	const struct filter long_lived = {.heap = {.temporary_ns = 6000000}};
	const struct filter of_a_time = {
		.from_ns = 1000, .to_ns = 3000000, .heap = {.temporary_ns = 6000000}};

	expect_table(&long_lived, METRIC_TEMPORARY,
		     "8.00 MiB freed soon in 5 blocks in 6.18 ms: ./prog\n"
		     "self KiB     %   ± total KiB     % blocks  function  location  module\n"
		     "    8192 100.0 0.0      8192 100.0      1  buffer    b.c:1     prog\n"
		     "       4  <0.1 0.0         4  <0.1      4  copy      p.c:1     prog\n"
		     "       0   0.0 0.0      8196 100.0      0  main      m.c:1     prog\n"
		     "       0   0.0 0.0         4  <0.1      0  parse     p.c:1     prog\n");
	expect_table(&of_a_time, METRIC_TEMPORARY,
		     "8.00 MiB (100.0% of 8.00 MiB) freed soon in 1 block in 6.18 ms: ./prog\n"
		     "self KiB     %   ± total KiB     % blocks  function  location  module\n"
		     "    8192 100.0 0.0      8192 100.0      1  buffer    b.c:1     prog\n"
		     "       0   0.0 0.0      8192 100.0      0  main      m.c:1     prog\n");
	expect_table(&(struct filter){.heap = {.temporary_ns = 1000000}}, METRIC_TEMPORARY,
		     "4.00 KiB freed soon in 4 blocks in 6.18 ms: ./prog\n"
		     "self B     %   ± total B     % blocks  function  location  module\n"
		     "  4096 100.0 0.0    4096 100.0      4  copy      p.c:1     prog\n"
		     "     0   0.0 0.0    4096 100.0      0  main      m.c:1     prog\n"
		     "     0   0.0 0.0    4096 100.0      0  parse     p.c:1     prog\n");
}

/*
 * A text that realloc() has moved from a block of 1 KiB to one of 2 KiB and lives for 3 ms, a
 * buffer that it makes ever larger, and one of which it hides the beginning.
 */
static struct profile *made_by_realloc(void)
{
	struct made made = made_begin();
	struct profile_allocation *block;

	block = made_block(&made, "main@/src/m.c:5;text@/src/t.c:2", KIB, 0, 0);
	block->freed_ns = block->time_ns + 2 * SAMPLE_TIME_GRAIN_NS;
	block->is_moved = true;
	made_block(&made, "main@/src/m.c:6;grows@/src/g.c:2", 4 * KIB, 0, 1)->freed_ns =
		4 * MS * SAMPLE_TIME_GRAIN_NS;
	made.profile->heap.allocations[1].is_moved = true;
	block = made_block(&made, "main@/src/m.c:5;text@/src/t.c:3", 2 * KIB, 0, 2);
	block->freed_ns = 3 * MS * SAMPLE_TIME_GRAIN_NS;
	block->former = 1;
	block = made_block(&made, "main@/src/m.c:7;hidden@/src/h.c:2", 512, 0, 1);
	block->freed_ns = block->time_ns;
	block->former = FORMER_UNKNOWN;
	made_block(&made, "main@/src/m.c:6;grows@/src/g.c:3", 16 * KIB, 0, 5 * MS)->former = 2;
	return made_end(&made);
}

static const struct filter shorter_than_a_second = {.heap = {.temporary_ns = 1000000000}};
static const struct filter shorter_than_a_millisecond = {.heap = {.temporary_ns = 1000000}};

static void expect_of_realloc(const struct filter *filter, enum metric metric, enum dimension by,
			      const char *expected)
{
	const struct view view = {.columns = 90};
	struct profile *profile = made_by_realloc();
	struct weights *weights = weigh(profile, filter, metric);
	struct flat *flat = flat_new(weights, by);
	struct sink sink = SINK_MEMORY;

	flat_print_text(flat, &view, 0, &sink);
	summary_print_notes(weights, &view, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	flat_free(flat);
	release(weights);
	profile_free(profile);
}

TEST(memory, lifetimes_run_from_the_first_allocation)
{
	expect_of_realloc(&everything, METRIC_ALLOC, BY_LIFETIME,
			  "self KiB    %   ± blocks samples  lifetime\n"
			  "     3.0 12.8 0.0      2       2  1 ms to 10 ms\n"
			  "    20.0 85.1 0.0      2       2  alive at the end\n"
			  "     0.5  2.1 0.0      1       1  [moved by realloc, rest unknown]\n");
	expect_of_realloc(&everything, METRIC_ALLOCS, BY_LIFETIME,
			  "self    %   ± samples  lifetime\n"
			  "   2 40.0 0.0       2  1 ms to 10 ms\n"
			  "   2 40.0 0.0       2  alive at the end\n"
			  "   1 20.0 0.0       1  [moved by realloc, rest unknown]\n");
}

TEST(memory, what_realloc_moved_is_not_temporary_for_that)
{
	expect_of_realloc(
		&shorter_than_a_second, METRIC_TEMPORARY, BY_FUNCTION,
		"self B     %   ± total B     % blocks  function  location  module\n"
		"  3072 100.0 0.0    3072 100.0      2  text      t.c:1     prog\n"
		"     0   0.0 0.0    3072 100.0      0  main      m.c:1     prog\n"
		"\nnote: 512 bytes more may be so: how long that lived is not known, as realloc() "
		"made it of\n      blocks, or blocks of it, that were not recorded\n");
	expect_of_realloc(
		&shorter_than_a_millisecond, METRIC_TEMPORARY, BY_FUNCTION,
		"self B % ± total B % blocks  function  location  module\n"
		"\nnote: 512 bytes more may be so: how long that lived is not known, as realloc() "
		"made it of\n      blocks, or blocks of it, that were not recorded\n");
}

/* Three of the texts are freed by parse(), one by who was lost; who freed the buffer is unknown. */
TEST(memory, freed_by_whom)
{
	const struct view view = {.columns = 90};
	struct profile *profile = made_up();
	struct stack_id parse = made_stack(profile, "main@/src/m.c:8;parse@/src/p.c:3");
	struct weights *weights;
	struct flat *flat;
	struct sink sink = SINK_MEMORY;

	for (uint32_t i = 4; i < 8; i++) {
		profile->heap.allocations[i].freed_by.v = 0;
		profile_note_freeing(profile, i, i < 7 ? parse : STACK_EMPTY,
				     i < 7 ? STACK_END_ROOT : STACK_END_NOT_TAKEN);
	}
	weights = weigh(profile, &everything, METRIC_FREED);
	flat = flat_new(weights, BY_FUNCTION);
	flat_print_text(flat, &view, 0, &sink);
	summary_print_notes(weights, &view, &sink);
	assert_string_equal(buf_str(&sink.pending),
			    "self B    %   ± total B    % blocks  function    location  module\n"
			    "  3072 75.0 0.0    3072 75.0      3  parse       p.c:1     prog\n"
			    "  1024 25.0 0.0    1024 25.0      1  [no stack]\n"
			    "     0  0.0 0.0    3072 75.0      0  main        m.c:1     prog\n"
			    "\nnote: 25.0% of the memory has no stack: none could be taken\n"
			    "note: 8.00 MiB in 1 block more: the freeing stack was not recorded\n");
	assert_int_equal(weights->unknown.weight, 8 * KIB * KIB);
	assert_int_equal(weights->no_stack.weight, KIB);
	sink_release(&sink);
	flat_free(flat);
	release(weights);
	profile_free(profile);
}

TEST(memory, decades_of_lifetimes)
{
	static const struct {
		uint64_t from_ns, to_ns;
		enum lifetime lifetime;
	} decades[] = {
		{0, 999, LIFETIME_SHORTEST},
		{1000, 9999, LIFETIME_SHORTEST + 1},
		{1000000, 9999999, LIFETIME_SHORTEST + 4},
		{1000000000, 9999999999, LIFETIME_LONGEST - 1},
		{10000000000, UINT64_C(1) << 60, LIFETIME_LONGEST},
	};
	uint64_t ns = 0;

	for (size_t i = 0; i < sizeof(decades) / sizeof(decades[0]); i++) {
		struct heap_life life = {.born_ns = 7, .is_whole = true};

		life.died_ns = 7 + decades[i].from_ns;
		assert_int_equal(lifetime_of(&life), decades[i].lifetime);
		life.died_ns = 7 + decades[i].to_ns;
		assert_int_equal(lifetime_of(&life), decades[i].lifetime);
		life.is_whole = false; /* it was longer */
		assert_int_equal(lifetime_of(&life), decades[i].lifetime == LIFETIME_LONGEST
							     ? LIFETIME_LONGEST
							     : LIFETIME_UNKNOWN);
		life.died_ns = 0;
		assert_int_equal(lifetime_of(&life), LIFETIME_ALIVE);
		assert_true(lifetime_from_ns(decades[i].lifetime, &ns));
		assert_int_equal(ns, decades[i].from_ns);
		assert_int_equal(lifetime_to_ns(decades[i].lifetime, &ns),
				 decades[i].lifetime != LIFETIME_LONGEST);
		if (decades[i].lifetime != LIFETIME_LONGEST)
			assert_int_equal(ns, decades[i].to_ns + 1);
	}
	assert_false(lifetime_from_ns(LIFETIME_ALIVE, &ns) || lifetime_to_ns(LIFETIME_ALIVE, &ns));
}

TEST(memory, tree)
{
	const struct view view = {.columns = 80};
	const struct tree_limits limits = {.min_percent = 0};
	struct profile *profile = made_up();
	struct weights *weights = weigh(profile, &everything, METRIC_PEAK);
	struct tree *tree = tree_new(weights);
	struct sink sink = SINK_MEMORY;

	tree_print_text(tree, &view, &limits, &sink);
	assert_string_equal(buf_str(&sink.pending),
			    " total MiB     %    ±  self MiB     %  function\n"
			    "      11.0 100.0  0.0                  main\n"
			    "       8.0  72.7  0.0       8.0  72.7  ├─ buffer\n"
			    "       3.0  27.3  0.0       3.0  27.3  └─ cache\n");
	sink_release(&sink);
	tree_free(tree);
	release(weights);
	profile_free(profile);
}

TEST(memory, json)
{
	struct profile *profile = made_up();
	struct weights *weights = weigh(profile, &everything, METRIC_PEAK);
	struct flat *flat = flat_new(weights, BY_FUNCTION);
	struct sink sink = SINK_MEMORY;

	flat_print_json(flat, 1, &sink);
	assert_string_equal(
		buf_str(&sink.pending),
		"{\"version\":1,\"metric\":\"peak\",\"unit\":\"bytes\",\"total_bytes\":11534336,"
		"\"total_blocks\":4,\"samples\":4,\"duration_ns\":6184960,\"at_ns\":4096000,"
		"\"command\":[\"./prog\"],\"rows\":[{\"function\":\"buffer\",\"file\":\"/src/"
		"b.c\",\"line\":1,\"module\":\"/bin/"
		"prog\",\"inlined\":false,\"self_bytes\":8388608,\"total_bytes\":8388608,\"ci_"
		"bytes\":0,\"total_ci_bytes\":0,\"self_blocks\":1,\"total_blocks\":1,\"self_"
		"samples\":1,\"total_"
		"samples\":1,\"self_pct\":72.7273,\"total_pct\":72.7273,\"ci_pct\":0,\"total_ci_"
		"pct\":0,\"calls\":"
		"null}]}\n");
	sink_release(&sink);
	flat_free(flat);
	release(weights);
	profile_free(profile);
}

struct leaks_limits {
	size_t rows;	/* 0: all */
	uint64_t depth; /* levels of a stack, from the leaf on; 0: all */
	size_t columns; /* 0: 80 */
};

static void expect_leaks_of(struct profile *profile, uint64_t min_age_ns, enum leaks_by by,
			    const struct leaks_limits *limits, bool as_json, const char *expected)
{
	const struct view view = {.columns = limits->columns ? limits->columns : 80};
	struct expansion *expansion = expansion_new(profile, false);
	struct selection *selection;
	struct leaks *leaks;
	struct sink sink = SINK_MEMORY;

	assert_int_equal(selection_new(expansion, &everything, &selection, NULL), 0);
	leaks = leaks_new(selection, &(struct leaks_request){.by = by,
							     .min_age_ns = min_age_ns,
							     .depth = limits->depth});
	if (as_json)
		leaks_print_json(leaks, limits->rows, &sink);
	else
		leaks_print_text(leaks, &view, limits->rows, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	leaks_free(leaks);
	selection_free(selection);
	expansion_free(expansion);
	profile_free(profile);
}

/* One of the blocks of cache() and that of copy() are of the second half of 6184 us. */
static void expect_leaks(uint64_t min_age_ns, const struct leaks_limits *limits, bool as_json,
			 const char *expected)
{
	expect_leaks_of(made_up(), min_age_ns, LEAKS_BY_PROCESS, limits, as_json, expected);
}

TEST(memory, leaks)
{
	expect_leaks(0, &(struct leaks_limits){.rows = 0}, false,
		     "3.00 MiB in 4 blocks not freed, of 2 stacks, in 6.18 ms: ./prog\n"
		     "\n"
		     "3.00 MiB in 3 blocks, the oldest for 6.18 ms, growing by 323 MiB/s\n"
		     "    /src/c.c:20: cache\n"
		     "    /src/m.c:5: main\n"
		     "\n"
		     "1.00 KiB in 1 block, for 0 ns, growing by 323 KiB/s\n"
		     "    /src/p.c:7: copy\n"
		     "    /src/p.c:3: parse\n"
		     "    /src/m.c:8: main\n");
}

/* Of two processes one leaks in two threads of a name, and in one of another. */
static struct profile *made_by_several(void)
{
	static const char stack[] = "main@/src/m.c:5;cache@/src/c.c:20";
	struct made made = made_begin();
	struct thread_id first = made.thread;

	made_block(&made, stack, KIB, 0, 0);
	made_thread(&made, 200, 200, "server");
	made_block(&made, stack, 2 * KIB, 0, 1);
	for (int tid = 201; tid < 204; tid++) {
		made_thread(&made, 200, tid, tid < 203 ? "worker" : "logger");
		made_block(&made, stack, 4 * KIB, 0, 1);
	}
	made_block(&made, "main@/src/m.c:6;log@/src/l.c", KIB / 2, 0, 1);
	made.thread = first;
	made_block(&made, stack, KIB, 0, 1);
	return made_end(&made);
}

TEST(memory, leaks_of_several_processes)
{
	expect_leaks_of(
		made_by_several(), 0, LEAKS_BY_PROCESS, &(struct leaks_limits){.depth = 1}, false,
		"16.5 KiB in 7 blocks not freed, by 2 processes, in 6.14 µs: prog\n"
		"    14.5 KiB in 5 blocks, of 2 stacks, by server (200)\n"
		"    2.00 KiB in 2 blocks, of one stack, by prog (100)\n"
		"\n"
		"14.0 KiB in 4 blocks by server (200), the oldest for 5.12 µs, growing by 1.24\n"
		"GiB/s\n"
		"    /src/c.c:20: cache\n"
		"\n"
		"2.00 KiB in 2 blocks by prog (100), the oldest for 6.14 µs, growing by 318 MiB/s\n"
		"    /src/c.c:20: cache\n"
		"\n"
		"512 bytes in 1 block by server (200), for 1.02 µs, growing by 159 MiB/s\n"
		"    /src/l.c: log\n");
	expect_leaks_of(made_by_several(), 0, LEAKS_BY_PROCESS,
			&(struct leaks_limits){.depth = 1, .rows = 1}, false,
			"16.5 KiB in 7 blocks not freed, by 2 processes, in 6.14 µs: prog\n"
			"    14.5 KiB in 5 blocks, of 2 stacks, by server (200)\n"
			"    and 1 more\n"
			"\n"
			"14.0 KiB in 4 blocks by server (200), the oldest for 5.12 µs, growing by "
			"1.24\nGiB/s\n"
			"    /src/c.c:20: cache\n"
			"\n"
			"2 more (-n 0 shows all)\n");
}

TEST(memory, leaks_of_processes_of_one_name)
{
	static const char stack[] = "main@/src/m.c:5;cache@/src/c.c:20";
	struct made made = made_begin();

	made_block(&made, stack, KIB, 0, 0);
	for (int pid = 200; pid < 203; pid++) {
		made_thread(&made, pid, pid, "cc");
		made_block(&made, stack, KIB, 0, 1);
	}
	expect_leaks_of(
		made_end(&made), 0, LEAKS_BY_PROGRAM, &(struct leaks_limits){.depth = 1}, false,
		"4.00 KiB in 4 blocks not freed, by 2 programs, in 3.07 µs: prog\n"
		"    3.00 KiB in 3 blocks, of one stack, by cc\n"
		"    1.00 KiB in 1 block, of one stack, by prog\n"
		"\n"
		"3.00 KiB in 3 blocks by cc, the oldest for 2.05 µs, growing by 1.24 GiB/s\n"
		"    /src/c.c:20: cache\n"
		"\n"
		"1.00 KiB in 1 block by prog, for 3.07 µs, none of it in the second half\n"
		"    /src/c.c:20: cache\n");
}

TEST(memory, leaks_of_several_threads)
{
	expect_leaks_of(made_by_several(), 0, LEAKS_BY_THREAD, &(struct leaks_limits){.depth = 1},
			false,
			"16.5 KiB in 7 blocks not freed, by threads of 4 names, in 6.14 µs: prog\n"
			"    8.00 KiB in 2 blocks, of one stack, by thread worker of server (200)\n"
			"    4.50 KiB in 2 blocks, of 2 stacks, by thread logger of server (200)\n"
			"    2.00 KiB in 2 blocks, of one stack, by thread prog of prog (100)\n"
			"    2.00 KiB in 1 block, of one stack, by thread server of server (200)\n"
			"\n"
			"8.00 KiB in 2 blocks by thread worker of server (200), the oldest for "
			"4.10 µs,\nnone of it in the second half\n"
			"    /src/c.c:20: cache\n"
			"\n"
			"4.00 KiB in 1 block by thread logger of server (200), for 2.05 µs, "
			"growing by\n1.24 GiB/s\n"
			"    /src/c.c:20: cache\n"
			"\n"
			"2.00 KiB in 2 blocks by thread prog of prog (100), the oldest for 6.14 "
			"µs,\ngrowing by 318 MiB/s\n"
			"    /src/c.c:20: cache\n"
			"\n"
			"2.00 KiB in 1 block by thread server of server (200), for 5.12 µs, none "
			"of it in\nthe second half\n"
			"    /src/c.c:20: cache\n"
			"\n"
			"512 bytes in 1 block by thread logger of server (200), for 1.02 µs, "
			"growing by\n159 MiB/s\n"
			"    /src/l.c: log\n");
	expect_leaks_of(
		made_by_several(), 0, LEAKS_BY_THREAD,
		&(struct leaks_limits){.depth = 1, .rows = 1}, true,
		"{\"version\":1,\"total_bytes\":16896,\"total_blocks\":7,\"exact\":true,\"ci_"
		"bytes\":0,\"owners\":[{\"pid\":200,\"process\":\"server\",\"thread\":\"worker\","
		"\"bytes\":8192,\"blocks\":2,\"ci_bytes\":0,\"stacks\":1},{\"pid\":200,\"process\":"
		"\"server\",\"thread\":\"logger\",\"bytes\":4608,\"blocks\":2,\"ci_bytes\":0,"
		"\"stacks\":2},{\"pid\":100,\"process\":\"prog\",\"thread\":\"prog\",\"bytes\":"
		"2048,\"blocks\":2,\"ci_bytes\":0,\"stacks\":1},{\"pid\":200,\"process\":"
		"\"server\",\"thread\":\"server\",\"bytes\":2048,\"blocks\":1,\"ci_bytes\":0,"
		"\"stacks\":1}],\"leaks\":[{\"bytes\":8192,\"blocks\":2,\"ci_bytes\":0,\"oldest_"
		"ns\":4096,\"growth_bytes_per_s\":0,\"samples\":2,\"kind\":"
		"\"malloc\",\"pid\":200,\"process\":"
		"\"server\",\"thread\":\"worker\",\"stack\":[{\"function\":\"cache\",\"file\":\"/"
		"src/c.c\",\"line\":20,\"module\":\"/bin/prog\",\"inlined\":false}]}]}\n");
}

TEST(memory, leaks_of_some_age)
{
	expect_leaks(1000000, &(struct leaks_limits){.depth = 1}, false,
		     "3.00 MiB in 3 blocks not freed, of one stack, in 6.18 ms: ./prog\n"
		     "\n"
		     "3.00 MiB in 3 blocks, the oldest for 6.18 ms, growing by 323 MiB/s\n"
		     "    /src/c.c:20: cache\n");
}

/* Directories are cut before names of functions, and no number is. */
TEST(memory, leaks_fit_the_terminal)
{
	struct made made = made_begin();

	made_block(&made,
		   "main@/build/server-2.11/src/main/server_main.c:1204;"
		   "accept_connection_and_read_request@/build/server-2.11/src/net/accept.c:77;"
		   "copy@p.c:7",
		   KIB * KIB, 0, 2 * MS);
	expect_leaks_of(made_end(&made), 0, LEAKS_BY_PROCESS, &(struct leaks_limits){.columns = 50},
			false,
			"1.00 MiB in 1 block not freed, of one stack, in\n"
			"2.05 ms\n"
			"\n"
			"1.00 MiB in 1 block, for 0 ns, growing by 977\n"
			"MiB/s\n"
			"    p.c:7: copy\n"
			"    …/accept.c:77: …pt_connection_and_read_request\n"
			"    …server-2.11/src/main/server_main.c:1204: main\n");
}

/* What a shell starts is another program: the number is too small, and says so. */
TEST(memory, leaks_of_late_programs_are_noted)
{
	struct profile *profile = made_up();
	struct profile_process other = {.pid = 7, .parent = 0};
	struct profile_heap_moment moment = {.time_ns = 5000};

	moment.process = profile_add_process(profile, &other).v;
	profile_add_heap_moment(profile, &moment);
	expect_leaks_of(
		profile, 1000000, LEAKS_BY_PROCESS, &(struct leaks_limits){.depth = 1}, false,
		"3.00 MiB in 3 blocks not freed, of one stack, in 6.18 ms: ./prog\n"
		"\n"
		"3.00 MiB in 3 blocks, the oldest for 6.18 ms, growing by 323 MiB/s\n"
		"    /src/c.c:20: cache\n"
		"\n"
		"note: 1 program was executed meanwhile: what was allocated in the first moments\n"
		"      of one, mostly less than 0.3 s, is not in this; to have it of one of them,\n"
		"      record that program itself\n");
}

/* What a call has mapped is told from what an allocator has handed out. */
TEST(memory, leaks_of_mappings_are_marked)
{
	struct profile *profile = made_up();

	for (size_t i = 0; i < profile->heap.nr_allocations; i++)
		profile->heap.allocations[i].kind = i < 4 ? ALLOCATION_MAP : ALLOCATION_POOL;
	expect_leaks_of(profile, 0, LEAKS_BY_PROCESS, &(struct leaks_limits){.depth = 1}, false,
			"3.00 MiB in 4 blocks not freed, of 2 stacks, in 6.18 ms: ./prog\n"
			"\n"
			"3.00 MiB in 3 blocks of mmap, the oldest for 6.18 ms, growing by 323 "
			"MiB/s\n"
			"    /src/c.c:20: cache\n"
			"\n"
			"1.00 KiB in 1 block of a pool, for 0 ns, growing by 323 KiB/s\n"
			"    /src/p.c:7: copy\n");
}

/*
 * A loop that was unrolled calls from several places of one line ("05" is another address of line
 * 5); what another line calls, another kind of block, and what was inlined elsewhere stays apart.
 */
static struct profile *made_by_unrolled_loop(void)
{
	struct made made = made_begin();

	for (uint64_t i = 0; i < 3; i++) {
		made_block(&made, "main@/src/m.c:5;loop@/src/l.c:7", KIB, 0, 1);
		made_block(&made, "main@/src/m.c:5;loop@/src/l.c:07", KIB, 0, 1);
		made_block(&made, "main@/src/m.c:05;loop@/src/l.c:007", 2 * KIB, 0, 1);
	}
	made_block(&made, "main@/src/m.c:5;loop@/src/l.c:0007", KIB, 0, 1)->kind = ALLOCATION_MAP;
	made_block(&made, "main@/src/m.c:6;loop@/src/l.c:7", KIB / 2, 0, 1);
	made_block(&made, "main@/src/m.c:5+loop@/src/l.c:7", KIB / 4, 0, 1);
	for (uint32_t i = 0; i < made.profile->heap.nr_allocations; i++)
		profile_search_allocation(made.profile, i,
					  i % 2 ? ALLOCATION_POINTED_TO : ALLOCATION_LOST);
	profile_add_search(made.profile, &(struct profile_search){.stop_ns = 1, .nr_bytes = KIB});
	return made_end(&made);
}

TEST(memory, leaks_that_are_shown_alike_are_one)
{
	expect_leaks_of(made_by_unrolled_loop(), 0, LEAKS_BY_PROCESS,
			&(struct leaks_limits){.rows = 0}, false,
			"13.8 KiB in 12 blocks not freed, of 4 stacks, in 12.3 µs: prog\n"
			"\n"
			"12.0 KiB in 9 blocks, the oldest for 11.3 µs, growing by 636 MiB/s\n"
			"    /src/l.c:7: loop\n"
			"    /src/m.c:5: main\n"
			"\n"
			"1.00 KiB in 1 block of mmap, for 2.05 µs, growing by 159 MiB/s\n"
			"    /src/l.c:7: loop\n"
			"    /src/m.c:5: main\n"
			"\n"
			"512 bytes in 1 block, for 1.02 µs, growing by 79.5 MiB/s\n"
			"    /src/l.c:7: loop\n"
			"    /src/m.c:6: main\n"
			"\n"
			"256 bytes in 1 block, for 0 ns, growing by 39.7 MiB/s\n"
			"    /src/l.c:7: loop (inlined)\n"
			"    /src/m.c:5: main\n");
}

/* The recording goes on for twice as long after the process ended: it was all in the first half. */
TEST(memory, leaks_of_a_process_that_ended_early)
{
	struct profile *profile = made_up();
	struct expansion *expansion;
	struct selection *selection;
	struct leaks *leaks;

	profile->processes[0].end_ns = profile->meta.duration_ns;
	profile->meta.duration_ns *= 3;
	expansion = expansion_new(profile, false);
	assert_int_equal(selection_new(expansion, &everything, &selection, NULL), 0);
	leaks = leaks_new(selection, &(struct leaks_request){.depth = 0});
	assert_int_equal(leaks->nr, 2);
	assert_int_equal(leaks->rows[0].oldest_ns, profile->processes[0].end_ns);
	assert_int_equal(leaks->rows[0].late_bytes, 0);
	assert_float_equal(leak_growth(leaks, &leaks->rows[0]), 0, 0);
	assert_int_equal(leaks->rows[1].late_bytes, 0);
	leaks_free(leaks);
	selection_free(selection);
	expansion_free(expansion);
	profile_free(profile);
}

/* What realloc() has moved is as old as it is, and has grown by what was added. */
TEST(memory, leaks_that_realloc_has_moved)
{
	struct profile *profile = made_by_realloc();
	struct expansion *expansion = expansion_new(profile, false);
	struct selection *selection;
	struct leaks *leaks;

	assert_int_equal(selection_new(expansion, &everything, &selection, NULL), 0);
	leaks = leaks_new(selection, &(struct leaks_request){.depth = 0});
	assert_int_equal(leaks->nr, 1);
	assert_int_equal(leaks->rows[0].tally.weight, 16 * KIB);
	assert_int_equal(leaks->rows[0].oldest_ns,
			 profile->meta.duration_ns - profile->heap.allocations[1].time_ns);
	assert_int_equal(leaks->rows[0].late_bytes, 12 * KIB);
	leaks_free(leaks);
	selection_free(selection);
	expansion_free(expansion);
	profile_free(profile);
}

/* malloc(0) gives a block, too. */
TEST(memory, leaks_without_bytes)
{
	struct made made = made_begin();
	struct expansion *expansion;
	struct selection *selection;
	struct leaks *leaks;

	made_block(&made, "main;none", 0, 0, 1);
	made_block(&made, "main;none", 0, 0, 1);
	made_end(&made);
	expansion = expansion_new(made.profile, false);
	assert_int_equal(selection_new(expansion, &everything, &selection, NULL), 0);
	leaks = leaks_new(selection, &(struct leaks_request){.depth = 0});
	assert_int_equal(leaks->nr, 1);
	assert_int_equal(leaks->rows[0].tally.weight, 0);
	assert_int_equal(tally_blocks(&leaks->rows[0].tally), 2);
	leaks_free(leaks);
	selection_free(selection);
	expansion_free(expansion);
	profile_free(made.profile);
}

TEST(memory, no_leaks)
{
	expect_leaks(7000000, &(struct leaks_limits){.rows = 0}, false,
		     "nothing recorded was left unfreed for 7.00 ms, in 6.18 ms: ./prog\n");
}

TEST(memory, leaks_as_json)
{
	expect_leaks(
		0, &(struct leaks_limits){.rows = 1}, true,
		"{\"version\":1,\"total_bytes\":3146752,\"total_blocks\":4,\"exact\":true,\"ci_"
		"bytes\":0,\"owners\":[{\"pid\":100,\"process\":\"prog\",\"bytes\":3146752,"
		"\"blocks\":4,\"ci_bytes\":0,\"stacks\":2}],"
		"\"leaks\":[{\"bytes\":3145728,\"blocks\":3,\"ci_bytes\":0,\"oldest_ns\":"
		"6184960,\"growth_bytes_per_s\":339072848,\"samples\":3,\"kind\":\"malloc\","
		"\"pid\":100,\"process\":\"prog\",\"stack\":[{\"function\":"
		"\"cache\",\"file\":\"/src/c.c\",\"line\":20,\"module\":\"/bin/"
		"prog\",\"inlined\":false},{\"function\":\"main\",\"file\":\"/src/"
		"m.c\",\"line\":5,\"module\":\"/bin/prog\",\"inlined\":false}]}]}\n");
}

/* Of cache() two blocks are lost, of copy() one, and of the rest of it nothing is known. */
static struct profile *searched(void)
{
	struct profile *profile = made_up();
	const struct profile_search searches[] = {{.stop_ns = 2000000, .nr_bytes = 3 * KIB * KIB},
						  {.why_not = profile_intern(profile, "it ended")}};
	uint32_t nr_cached = 0;

	for (uint32_t i = 0; i < profile->heap.nr_allocations; i++) {
		const struct profile_allocation *row = &profile->heap.allocations[i];

		if (row->freed_ns)
			continue;
		if (row->size_bytes == KIB || ++nr_cached < 3)
			profile_search_allocation(profile, i, ALLOCATION_LOST);
	}
	profile_add_search(profile, &searches[0]);
	profile_add_search(profile, &searches[1]);
	return profile;
}

static void expect_searched_at(struct profile *profile, const struct filter *filter,
			       const struct leaks_limits *limits, bool as_json,
			       const char *expected)
{
	const struct view view = {.columns = 100};
	struct expansion *expansion = expansion_new(profile, false);
	struct selection *selection;
	struct leaks *leaks;
	struct sink sink = SINK_MEMORY;

	assert_int_equal(selection_new(expansion, filter, &selection, NULL), 0);
	leaks = leaks_new(selection, &(struct leaks_request){.depth = limits->depth});
	leaks_tell_lost(leaks);
	if (as_json)
		leaks_print_json(leaks, limits->rows, &sink);
	else
		leaks_print_text(leaks, &view, limits->rows, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	leaks_free(leaks);
	selection_free(selection);
	expansion_free(expansion);
	profile_free(profile);
}

static void expect_searched(struct profile *profile, const struct leaks_limits *limits,
			    bool as_json, const char *expected)
{
	expect_searched_at(profile, &everything, limits, as_json, expected);
}

TEST(memory, leaks_with_what_is_lost)
{
	expect_searched(
		searched(), &(struct leaks_limits){.depth = 1}, false,
		"3.00 MiB in 4 blocks not freed, of 2 stacks, in 6.18 ms: ./prog\n"
		"2.00 MiB in 3 blocks of it lost: no pointer to it in 3.00 MiB of one process, "
		"which was stopped for\n2.00 ms\n"
		"not searched: prog (100): it ended\n"
		"\n"
		"3.00 MiB in 3 blocks, the oldest for 6.18 ms, growing by 323 MiB/s; 2.00 MiB "
		"in 2 blocks of it lost;\na part perhaps pointed to\n"
		"    /src/c.c:20: cache\n"
		"\n"
		"1.00 KiB in 1 block, for 0 ns, growing by 323 KiB/s; all of it lost\n"
		"    /src/p.c:7: copy\n");
}

/* At the mark the buffer is still there, and what comes later is not: one of the two is not judged.
 */
static struct profile *searched_at_mark(void)
{
	struct profile *profile = searched();
	uint32_t search = profile_add_search(
		profile, &(struct profile_search){.time_ns = 3 * MS * SAMPLE_TIME_GRAIN_NS,
						  .stop_ns = 1000000,
						  .nr_bytes = KIB,
						  .mark = profile_intern(profile, "m")});

	profile_add_verdict(profile, &(struct profile_verdict){search, 0, ALLOCATION_LOST});
	profile_add_verdict(profile, &(struct profile_verdict){search, 1, ALLOCATION_POINTED_TO});
	return profile;
}

TEST(memory, leaks_of_a_moment_are_as_if_that_were_the_end)
{
	const struct filter at = {
		.heap = {.at = FILTER_AT_TIME, .at_ns = 3 * MS * SAMPLE_TIME_GRAIN_NS}};
	const struct filter later = {
		.heap = {.at = FILTER_AT_TIME, .at_ns = 3 * MS * SAMPLE_TIME_GRAIN_NS + 1}};

	expect_searched_at(
		searched_at_mark(), &at, &(struct leaks_limits){.depth = 1}, false,
		"10.0 MiB in 3 blocks alive at 3.07 ms, of 2 stacks, in 6.18 ms: ./prog\n"
		"1.00 MiB in 1 block of it lost: no pointer to it in 1.00 KiB of one process, "
		"which was stopped for\n1.00 ms\n"
		"\n"
		"2.00 MiB in 2 blocks, the oldest for 3.07 ms, growing by 651 MiB/s; 1.00 MiB in 1 "
		"block of it lost;\na part perhaps pointed to\n"
		"    /src/c.c:20: cache\n"
		"\n"
		"8.00 MiB in 1 block, for 2.05 ms, none of it in the second half; pointed to\n"
		"    /src/b.c:9: buffer\n");
	expect_searched_at(
		searched_at_mark(), &later, &(struct leaks_limits){.rows = 1, .depth = 1}, false,
		"10.0 MiB in 3 blocks alive at 3.07 ms, of 2 stacks, in 6.18 ms: ./prog\n"
		"pointers to it were not searched for then: 'mem search TEXT' does that, see "
		"profc-record(1)\n"
		"\n"
		"8.00 MiB in 1 block, for 2.05 ms, none of it in the second half; perhaps "
		"pointed to\n"
		"    /src/b.c:9: buffer\n"
		"\n"
		"1 more (-n 0 shows all)\n");
}

/* Callers that are not shown tell nothing apart: line 6 of main() adds a block, which is lost. */
TEST(memory, leaks_that_are_cut_alike_are_one)
{
	expect_searched(
		made_by_unrolled_loop(), &(struct leaks_limits){.depth = 1, .rows = 1}, true,
		"{\"version\":1,\"total_bytes\":14080,\"total_blocks\":12,\"exact\":true,\"ci_"
		"bytes\":0,\"owners\":[{\"pid\":100,\"process\":\"prog\",\"bytes\":14080,"
		"\"blocks\":12,\"ci_bytes\":0,\"stacks\":3}],\"lost_bytes\":7680,\"lost_blocks\":6,"
		"\"pointed_to_bytes\":6400,\"pointed_to_blocks\":6,\"reachable\":{\"processes\":1,"
		"\"searched_bytes\":1024,\"stop_ns\":1,\"stop_ns_max\":1,\"not_searched\":[]},"
		"\"leaks\":[{\"bytes\":12800,\"blocks\":10,\"ci_bytes\":0,\"oldest_ns\":11264,"
		"\"growth_bytes_per_s\":750000000,\"samples\":10,\"kind\":\"malloc\",\"pid\":100,"
		"\"process\":\"prog\",\"lost_bytes\":7680,\"lost_blocks\":6,\"pointed_to_bytes\":"
		"5120,\"pointed_to_blocks\":4,\"stack\":[{\"function\":\"loop\",\"file\":\"/src/"
		"l.c\","
		"\"line\":7,\"module\":\"/bin/prog\",\"inlined\":false}]}]}\n");
}

/* What is pointed to comes last, however much it is. */
TEST(memory, lost_blocks_come_first)
{
	struct profile *profile = made_up();
	const struct profile_search search = {.stop_ns = 2000000, .nr_bytes = 2048};

	for (uint32_t i = 0; i < profile->heap.nr_allocations; i++) {
		const struct profile_allocation *row = &profile->heap.allocations[i];

		if (!row->freed_ns)
			profile_search_allocation(profile, i,
						  row->size_bytes == KIB ? ALLOCATION_LOST
									 : ALLOCATION_POINTED_TO);
	}
	profile_add_search(profile, &search);
	expect_searched(
		profile, &(struct leaks_limits){.depth = 1}, true,
		"{\"version\":1,\"total_bytes\":3146752,\"total_blocks\":4,"
		"\"exact\":true,\"ci_bytes\":0,\"owners\":[{\"pid\":100,"
		"\"process\":\"prog\",\"bytes\":3146752,\"blocks\":4,\"ci_bytes\":0,"
		"\"stacks\":2}],\"lost_bytes\":1024,\"lost_blocks\":1,"
		"\"pointed_to_bytes\":3145728,\"pointed_to_blocks\":3,"
		"\"reachable\":{\"processes\":1,\"searched_bytes\":2048,"
		"\"stop_ns\":2000000,\"stop_ns_max\":2000000,\"not_searched\":[]},"
		"\"leaks\":[{\"bytes\":1024,\"blocks\":1,\"ci_bytes\":0,"
		"\"oldest_ns\":0,\"growth_bytes_per_s\":331126,\"samples\":1,\"kind\":\"malloc\","
		"\"pid\":100,\"process\":\"prog\",\"lost_bytes\":1024,"
		"\"lost_blocks\":1,\"pointed_to_bytes\":0,\"pointed_to_blocks\":0,"
		"\"stack\":[{\"function\":\"copy\",\"file\":\"/src/p.c\",\"line\":7,"
		"\"module\":\"/bin/prog\",\"inlined\":false}]},{\"bytes\":3145728,"
		"\"blocks\":3,\"ci_bytes\":0,\"oldest_ns\":6184960,"
		"\"growth_bytes_per_s\":339072848,\"samples\":3,\"kind\":\"malloc\",\"pid\":100,"
		"\"process\":\"prog\",\"lost_bytes\":0,\"lost_blocks\":0,"
		"\"pointed_to_bytes\":3145728,\"pointed_to_blocks\":3,"
		"\"stack\":[{\"function\":\"cache\",\"file\":\"/src/c.c\",\"line\":20,"
		"\"module\":\"/bin/prog\",\"inlined\":false}]}]}\n");
}

TEST(memory, leaks_without_a_search)
{
	expect_searched(
		made_up(), &(struct leaks_limits){.rows = 1, .depth = 1}, false,
		"3.00 MiB in 4 blocks not freed, of 2 stacks, in 6.18 ms: ./prog\n"
		"pointers to it were not searched for: 'profc record --mem --reachable' does that\n"
		"\n"
		"3.00 MiB in 3 blocks, the oldest for 6.18 ms, growing by 323 MiB/s; perhaps "
		"pointed to\n"
		"    /src/c.c:20: cache\n"
		"\n"
		"1 more (-n 0 shows all)\n");
}

/* 64 of 16384 blocks were met: their share is known no better than to some percent. */
/* What was lost was lost in bursts, of which no interval tells. */
/* Nobody is told to do what they have done. */
TEST(memory, lost_blocks_are_told)
{
	struct made made = made_begin();
	struct profile_heap_moment moment = {.nr_dropped = 1420, .nr_frees_dropped = 7};

	profile_add_command_word(made.profile, "./prog");
	for (int i = 0; i < 2; i++)
		made_block(&made, "main@/src/m.c:5", KIB * KIB, 0, MS);
	moment.time_ns = made.time_ns;
	profile_add_heap_moment(made.profile, &moment);
	expect_leaks_of(
		made_end(&made), 0, LEAKS_BY_PROCESS, &(struct leaks_limits){.rows = 0}, false,
		"2.00 MiB in 2 blocks not freed, of one stack, in 2.05 ms: ./prog\n"
		"\n"
		"2.00 MiB in 2 blocks, the oldest for 1.02 ms, growing by 977 MiB/s\n"
		"    /src/m.c:5: main\n"
		"\n"
		"note: 1,420 blocks were lost beside 2 that were recorded, as they came too fast:\n"
		"      they are in none of this, and \xc2\xb1 is as if all of them belonged there; "
		"less\n"
		"      is lost where profc gets more of the CPUs\n"
		"note: 7 frees were not recorded: up to 7 blocks that are shown as left may have\n"
		"      been freed\n");
}

TEST(memory, estimates_have_intervals_and_exact_totals)
{
	struct made made = made_begin();
	struct profile_heap_moment moment = {.allocated_bytes = 1 << 20, .nr_allocations = 16384};
	struct profile *profile;
	struct weights *weights;
	struct stack_weight sum;
	size_t next = 0;

	for (int i = 0; i < 64; i++)
		made_block(&made, i % 4 ? "main@m.c:1;often@m.c:2" : "main@m.c:1;seldom@m.c:3", 64,
			   8192, 1);
	moment.time_ns = made.time_ns;
	profile_add_heap_moment(made.profile, &moment);
	profile = made_end(&made);
	weights = weigh(profile, &everything, METRIC_ALLOC);
	/* But for what is rounded off of the last. */
	assert_in_range(weights->total.weight, (1 << 20) - 1, 1 << 20);
	assert_int_equal(tally_blocks(&weights->total), 16384);
	do
		assert_true(weights_next_stack(weights, &next, &sum));
	while (sum.stack.v != profile->heap.allocations[0].stack.v);
	assert_int_equal(sum.tally.samples, 16);
	assert_float_equal(tally_percent(&sum.tally, &weights->total), 25, 0.01);
	/* Of 64 samples a quarter: 1.96 * sqrt(0.25 * 0.75 / 64) and the same correction. */
	assert_float_equal(tally_interval(&sum.tally, &weights->total), 10.9, 0.1);
	/*
	 * 16384 bytes each, of which 64 are no estimate: 1.96 * sqrt(16) * 16384, less the quarter
	 * of the variance that the total fixes, and a correction as Wilson's.
	 */
	assert_float_equal(tally_error(&sum.tally, &weights->total), 114300, 1000);
	release(weights);
	profile_free(profile);
}

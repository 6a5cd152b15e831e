// SPDX-License-Identifier: GPL-2.0-or-later
/* A comparison as a comment for a pull request. */
#include "base/buf.h"
#include "base/sink.h"
#include "calltree/diff.h"
#include "calltree/weights.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"
#include "view/diff_markdown.h"
#include "view/diff_text.h"

struct side {
	struct profile *profile;
	struct weighed_fixture weighed;
};

static struct side side_of(const char *stack, unsigned int nr)
{
	struct made made = made_begin();
	struct side side;

	for (unsigned int i = 0; i < nr; i++)
		made_sample(&made, stack, 1);
	for (unsigned int i = 0; i < 100; i++)
		made_sample(&made, "main;print", 1);
	made_at_once(made.profile);
	side.profile = made_end(&made);
	side.weighed = weighed_new(side.profile, NULL, METRIC_CPU);
	return side;
}

static void expect(const char *stack, unsigned int nr_old, unsigned int nr_new,
		   const char *exceeded, const char *wanted)
{
	const struct diff_limits limits = {.rows = 5};
	struct side before = side_of(stack, nr_old), after = side_of(stack, nr_new);
	const struct diff_request request = {
		.old_runs = (const struct weights *const *)&before.weighed.weights,
		.new_runs = (const struct weights *const *)&after.weighed.weights,
		.nr_old = 1,
		.nr_new = 1,
		.mode = DIFF_AMOUNTS};
	struct diff *diff = diff_new(&request);
	struct sink sink = SINK_MEMORY;
	char *details;

	diff_print_markdown(diff, &limits, exceeded, &sink);
	details = strstr((char *)sink.pending.bytes, "<details><summary>how this was compared");
	assert_non_null(details);
	*details = '\0';
	assert_string_equal((const char *)sink.pending.bytes, wanted);
	sink_release(&sink);
	diff_free(diff);
	weighed_free(&before.weighed);
	weighed_free(&after.weighed);
	profile_free(before.profile);
	profile_free(after.profile);
}

TEST(diff_markdown, has_sure_changes_and_limits)
{
	expect("main;parse", 100, 300, "cpu: parse has grown by 100%\n",
	       "<!-- profc diff -->\n"
	       "### profc (cpu): total: +200 ms (+100.0%)\n\n"
	       "**Limit exceeded**: cpu: parse has grown by 100%\n\n"
	       "| change% | \xc2\xb1 | old ms | new ms | | function | module |\n"
	       "|---:|---:|---:|---:|---|---|---|\n"
	       "| **+100.0** | 12.5 | 100.0 | 300.0 |  | `parse` | `prog` |\n\n");
}

TEST(diff_markdown, folds_changes_within_noise)
{
	expect("main;parse", 100, 102, "",
	       "<!-- profc diff -->\n"
	       "### profc (cpu): total: +2.00 ms (+1.0%)\n\n"
	       "No function has surely changed.\n\n"
	       "<details><summary>1 function changed within noise</summary>\n\n"
	       "| change% | \xc2\xb1 | old ms | new ms | | function | module |\n"
	       "|---:|---:|---:|---:|---|---|---|\n"
	       "| +1.0 | 11.1 | 100.0 | 102.0 |  | `parse` | `prog` |\n\n"
	       "</details>\n\n");
}

/* A name is neither a cell of its own, nor HTML, nor the end of the code that it is in. */
TEST(diff_markdown, names_are_no_markup)
{
	expect("main;op|x`<b>", 100, 300, "op|x`<b> *grew*\n",
	       "<!-- profc diff -->\n"
	       "### profc (cpu): total: +200 ms (+100.0%)\n\n"
	       "**Limit exceeded**: op&#124;x&#96;&#60;b&#62; &#42;grew&#42;\n\n"
	       "| change% | \xc2\xb1 | old ms | new ms | | function | module |\n"
	       "|---:|---:|---:|---:|---|---|---|\n"
	       "| **+100.0** | 12.5 | 100.0 | 300.0 |  | <code>op&#124;x&#96;&#60;b&#62;</code> | "
	       "`prog` |\n\n");
}

TEST(diff_markdown, of_a_profile_and_its_copy)
{
	expect("main;parse", 100, 100, "",
	       "<!-- profc diff -->\n"
	       "### profc (cpu): no change\n\n");
}

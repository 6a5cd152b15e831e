// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "base/nearest.h"
#include "tests/unit/unit.h"

static const char *const commands[] = {"record", "attach", "report", "annotate", "export", "info"};

static const char *nearest(const char *word)
{
	return nearest_word(word, commands, ARRAY_SIZE(commands));
}

TEST(nearest, finds_slips)
{
	assert_string_equal(nearest("recrod"), "record");     /* swapped */
	assert_string_equal(nearest("reprt"), "report");      /* missing */
	assert_string_equal(nearest("exporrt"), "export");    /* extra */
	assert_string_equal(nearest("anmotate"), "annotate"); /* wrong */
	assert_string_equal(nearest("rep"), "report");	      /* begun */
	assert_string_equal(nearest("inof"), "info");
}

TEST(nearest, says_nothing_when_far)
{
	static const char *const top = "top";

	assert_null(nearest(""));
	assert_null(nearest("x"));
	assert_null(nearest_word("foo", &top, 1)); /* two of three letters are no slips */
	assert_null(nearest("quicksort"));
	assert_null(nearest("a-very-long-word-that-is-longer-than-any-candidate-of-all"));
}

TEST(nearest, prefers_fewer_slips)
{
	static const char *const words[] = {"--children", "--no-children"};

	assert_string_equal(nearest_word("--no-childen", words, 2), "--no-children");
	assert_string_equal(nearest_word("--childen", words, 2), "--children");
}

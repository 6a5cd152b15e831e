// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "cmd/trigger_hint.h"
#include "profile/profile.h"
#include "tests/unit/unit.h"

/* The hint for a profile with this trigger, or "". */
static char *hint(const char *trigger, uint64_t seconds)
{
	struct profile *profile = profile_new();
	cleanup_free char *mark = xasprintf("trigger:%s", trigger);
	struct buf text = {0};
	char *words;

	/* An earlier trigger was suppressed. */
	profile_add_mark(profile, NS_PER_SEC, "trigger:signal");
	profile_add_mark(profile, seconds * NS_PER_SEC, mark);
	profile_set_counter(profile, "trigger_ns", seconds * NS_PER_SEC);
	if (!trigger_hint_append(&text, profile, "dumps/"))
		assert_int_equal(text.nr_bytes, 0);
	profile_free(profile);
	words = xstrdup(buf_str(&text));
	buf_release(&text);
	return words;
}

TEST(trigger_hint, compares_the_time_at_the_trigger_with_the_time_before)
{
	static const struct {
		const char *trigger;
		uint64_t seconds;
		const char *words;
	} cases[] = {
		{"cpu>180%/5s", 60, "profc diff dumps/ --time -60s..-10s -- -10s.."},
		{"cpu>180%/1m", 600, "profc diff dumps/ --time -110s..-60s -- -60s.."},
		{"rss>2G", 15, "profc diff dumps/ --time -60s..-10s -- -10s.."},
		{"runq>50%/5s", 60, "profc diff dumps/ --time -60s..-10s -- -10s.. -m runq"},
		{"stall>2s", 60, "profc diff dumps/ --time -60s..-10s -- -10s.. -m blocked"},
		{"control slow", 60, "profc diff dumps/ --time -60s..-10s -- -10s.."},
		{"span:f<int>>200ms", 60, "profc report -i dumps/ --slow 'f<int>>200ms'"},
		{"span:begin:end>1s", 2, "profc report -i dumps/ --slow 'begin:end>1s'"},
		/* There is not enough before. */
		{"cpu>180%/5s", 14, ""},
		{"cpu>180%/1m", 60, ""},
		{"exit", 60, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_free char *words = hint(cases[i].trigger, cases[i].seconds);

		assert_string_equal(words, cases[i].words);
	}
}

TEST(trigger_hint, a_profile_without_trigger_has_none)
{
	struct profile *profile = profile_new();
	struct buf text = {0};

	profile_add_mark(profile, 60 * NS_PER_SEC, "sorting");
	assert_false(trigger_hint_append(&text, profile, NULL));
	profile_free(profile);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/adopt_symbols.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

static const char *name_of(const struct profile *profile, uint32_t frame, uint32_t level)
{
	const struct frame_symbols *chain = &profile->symbols.frames[frame];
	const struct location *location = &profile->symbols.locations[chain->first + level];

	assert_true(level < chain->nr);
	return profile_str(profile, profile->symbols.functions[location->function.v].name);
}

/* The later state has a frame more, and other texts before those of the names. */
TEST(adopt_symbols, names_the_first_frames)
{
	struct made early = made_begin();
	struct made late = made_begin();
	struct profile *from, *into;

	profile_intern(late.profile, "something else");
	made_sample(&early, "main@a.c:7;outer@a.c:9+inner@b.h:3;?", 1);
	made_sample(&late, "main@a.c:7;outer@a.c:9+inner@b.h:3;?", 1);
	made_sample(&late, "main@a.c:7;newly_met@c.c:1", 1);
	from = made_end(&early);
	into = late.profile;
	assert_int_equal(into->nr_frames, from->nr_frames + 1);
	from->symbols.modules[1].problem = profile_intern(from, "no debug information");
	profile_adopt_symbols(into, from);
	assert_int_equal(into->symbols.nr_frames, into->nr_frames);
	assert_int_equal(into->symbols.nr_asked, from->nr_frames);
	/* Interned in the order they stand in a stack: main, outer and inner, the nameless one. */
	assert_string_equal(name_of(into, 0, 0), "main");
	assert_string_equal(name_of(into, 1, 0), "inner");
	assert_string_equal(name_of(into, 1, 1), "outer");
	assert_int_equal(into->symbols.locations[into->symbols.frames[0].first].line, 7);
	assert_int_equal(into->symbols.frames[2].nr, 0);
	assert_int_equal(into->symbols.frames[3].nr, 0);
	assert_string_equal(profile_str(into, into->symbols.modules[1].problem),
			    "no debug information");
	profile_free(from);
	/* Nothing of it was borrowed. */
	assert_string_equal(name_of(into, 1, 0), "inner");
	profile_free(into);
}

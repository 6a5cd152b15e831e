// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "base/clock.h"
#include "tests/unit/unit.h"
#include "view/progress_text.h"

#define S NS_PER_SEC

static void assert_progress(struct progress_state state, const char *expected)
{
	struct buf text = {0};

	append_progress(&text, &state);
	assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
}

TEST(progress_text, what_is_known)
{
	assert_progress((struct progress_state){.elapsed_ns = 2 * S}, ": 2 s");
	assert_progress((struct progress_state){0, 50, 0, 2 * S, 0, 0}, ": 0%");
	assert_progress((struct progress_state){0, 0, 3000000, 9 * S, 0, 2 * S},
			": 9 s, 3.0 MB at 1.5 MB/s");
	assert_progress((struct progress_state){25, 100, 3000000, 9 * S, 4 * S, 2 * S},
			": 25%, 3.0 MB at 1.5 MB/s, 13 s left");
	assert_progress((struct progress_state){100, 100, 3000000, 9 * S, 4 * S, 2 * S},
			": 100%, 3.0 MB at 1.5 MB/s");
}

/* What has just begun says nothing of a pace. */
TEST(progress_text, no_guesses)
{
	assert_progress((struct progress_state){1, 100, 1000, 3 * S, S / 5, S / 5}, ": 1%, 1.0 kB");
}

TEST(progress_text, long_times)
{
	assert_progress((struct progress_state){1, 100, 0, 9 * S, 2 * S, 0}, ": 1%, 3 min left");
	assert_progress((struct progress_state){1, 10000, 0, 9 * S, 2 * S, 0}, ": 0%, 6 h left");
	assert_progress((struct progress_state){.elapsed_ns = 99 * S}, ": 99 s");
	assert_progress((struct progress_state){.elapsed_ns = 100 * S}, ": 2 min");
}

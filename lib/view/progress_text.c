// SPDX-License-Identifier: GPL-2.0-or-later
/* The progress of long work, in words. */
#include "view/progress_text.h"

#include "base/buf.h"
#include "base/clock.h"
#include "view/number.h"

/* Before that the pace is a guess. */
#define PACE_NS (NS_PER_SEC / 2)

static void append_seconds(struct buf *out, uint64_t seconds)
{
	if (seconds < 100)
		buf_printf(out, "%llu s", (unsigned long long)seconds);
	else if (seconds < 100 * 60)
		buf_printf(out, "%llu min", (unsigned long long)(seconds + 30) / 60);
	else
		buf_printf(out, "%llu h", (unsigned long long)(seconds + 1800) / 3600);
}

static void append_written(struct buf *out, const struct progress_state *state)
{
	double seconds = (double)state->written_ns / (double)NS_PER_SEC;

	buf_append_str(out, ", ");
	append_bytes(out, state->bytes);
	if (state->written_ns >= PACE_NS) {
		buf_append_str(out, " at ");
		append_bytes(out, (uint64_t)((double)state->bytes / seconds));
		buf_append_str(out, "/s");
	}
}

static void append_left(struct buf *out, const struct progress_state *state)
{
	double rest = (double)(state->total - state->done) / (double)state->done;
	double seconds = (double)state->counted_ns * rest / (double)NS_PER_SEC;

	buf_append_str(out, ", ");
	append_seconds(out, (uint64_t)seconds + 1);
	buf_append_str(out, " left");
}

void append_progress(struct buf *out, const struct progress_state *state)
{
	if (!state->total) {
		buf_append_str(out, ": ");
		append_seconds(out, state->elapsed_ns / NS_PER_SEC);
	} else {
		buf_printf(out, ": %d%%",
			   (int)(100.0 * (double)state->done / (double)state->total));
	}
	if (state->bytes)
		append_written(out, state);
	if (state->done && state->done < state->total && state->counted_ns >= PACE_NS)
		append_left(out, state);
}

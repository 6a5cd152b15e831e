// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/elapsed_words.h"

#include "base/buf.h"
#include "calltree/elapsed.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"
#include "view/number.h"

#define WORTH_A_NOTE_PERCENT 1.0

/* Other programs took that time, and no function of this one. */
static void append_run_queue(const struct weights *weights, struct buf *note)
{
	const struct elapsed *elapsed;
	struct tally waits = {0};

	if (!weights->selection->everything)
		return;
	elapsed = selection_elapsed(weights->selection);
	for (size_t i = 0; i < elapsed->nr; i++)
		if (elapsed->parts[i].state == ELAPSED_RUNNABLE)
			waits.weight += elapsed->parts[i].ns;
	if (tally_percent(&waits, &weights->total) < WORTH_A_NOTE_PERCENT)
		return;
	buf_append_str(note, "for ");
	append_percent(note, tally_percent(&waits, &weights->total));
	buf_append_str(note,
		       "% of the time threads waited for a CPU and none had one (-m runq says "
		       "what had them)");
}

static void append_no_moment(const struct weights *weights, struct buf *note)
{
	struct tally all = {0}, unplaced = {0};

	all.weight = weights->selection->expansion->profile->meta.duration_ns;
	unplaced.weight = selection_elapsed(weights->selection)->unplaced_ns;
	if (tally_percent(&unplaced, &all) < WORTH_A_NOTE_PERCENT)
		return;
	if (note->nr_bytes)
		buf_append_str(note, "; ");
	append_weight(note, METRIC_CPU, unplaced.weight);
	buf_append_str(note, " of CPU time of processes and threads that were too short to sample "
			     "has no known moment: it is not here, but what waited for them");
}

void note_elapsed(const struct weights *weights, struct buf *note)
{
	if (weights->metric != METRIC_ELAPSED)
		return;
	append_run_queue(weights, note);
	append_no_moment(weights, note);
}

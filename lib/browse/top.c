// SPDX-License-Identifier: GPL-2.0-or-later
#include "browse/top.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/sink.h"
#include "browse/browse.h"
#include "browse/key.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/weights.h"
#include "profile/profile.h"
#include "verdict/verdict.h"
#include "view/cut.h"
#include "view/flat_text.h"
#include "view/line.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/summary.h"
#include "view/top_memory.h"

#define LIMIT_NO_SCREEN 20

bool top_key(struct top_state *state, struct browse *browse, int key)
{
	if (key == BROWSE_KEY_CTRL_Z) {
		state->stop = true;
		return false;
	}
	if (!browse_is_typing(browse) && (key == ' ' || key == 'p')) {
		state->paused = !state->paused;
		return true;
	}
	if (!browse_is_typing(browse) && key == 'a') {
		state->all_time = !state->all_time;
		return true;
	}
	browse_key(browse, key);
	return false;
}

/* All of the window, regardless of filters. */
static struct selection *window_of(const struct browse_weighing *weighing)
{
	const struct filter last = {.from_ns = weighing->input.profile->meta.duration_ns -
					       browse_window_ns(&weighing->input)};
	struct selection *selection = NULL;

	/* A filter without patterns cannot be wrong. */
	selection_new(weighing->expansion, &last, &selection, NULL);
	return selection;
}

/* The activity of all processes in the window. */
struct activity {
	uint64_t cpu_ns;
	size_t nr_threads, nr_busy;
};

static struct activity activity_of(const struct browse_weighing *weighing)
{
	const struct profile *profile = weighing->input.profile;
	struct selection *selection = window_of(weighing);
	cleanup_free bool *busy = xcalloc(profile->nr_threads + 1, sizeof(*busy));
	struct activity activity = {0};
	struct selection_walk walk;
	struct sample sample;

	selection_walk_init(&walk, selection);
	while (selection_walk_next(&walk, &sample)) {
		activity.cpu_ns += sample.cpu_ns;
		busy[sample.thread.v] |= sample.cpu_ns > 0;
	}
	selection_walk_release(&walk);
	for (size_t i = 0; i < profile->nr_threads; i++) {
		const struct profile_thread *thread = &profile->threads[i];

		activity.nr_busy += busy[i];
		activity.nr_threads +=
			busy[i] || !thread->end_ns || thread->end_ns > selection->from_ns;
	}
	selection_free(selection);
	return activity;
}

/* "CPU 187%, 3/12 threads; ": 3 of 12 have run. */
static void append_activity(struct buf *line, const struct browse_weighing *weighing)
{
	struct activity activity = activity_of(weighing);
	uint64_t window_ns = browse_window_ns(&weighing->input);

	if (!weighing->input.profile->nr_samples || !window_ns)
		return;
	buf_printf(line, "CPU %.0f%%, %zu/%zu threads; ",
		   100.0 * (double)activity.cpu_ns / (double)window_ns, activity.nr_busy,
		   activity.nr_threads);
}

/* "4.97 s of CPU time in the last 5.00 s, 2,480 samples" */
static void append_amount(struct buf *line, const struct browse_weighing *weighing)
{
	const struct weights *weights = weighing->weights;
	uint64_t window_ns = browse_window_ns(&weighing->input);

	if (metric_is_memory(weights->metric)) {
		top_append_amount(line, weights, window_ns);
		return;
	}
	append_weight(line, weights->metric, weights->total.weight);
	buf_append_str(line, metric_info(weights->metric)->amount_words);
	buf_append_str(line, " in the last ");
	append_weight(line, METRIC_WALL, window_ns);
	if (metric_is_time(weights->metric)) {
		buf_append_str(line, ", ");
		append_weight(line, METRIC_SAMPLES, weights->total.samples);
	}
}

static void append_title(struct buf *line, const struct profile *profile)
{
	struct buf title = {0};

	profile_append_title(&title, profile);
	if (title.nr_bytes > 0)
		buf_append_str(line, ": ");
	escape_terminal(line, buf_str(&title));
	buf_release(&title);
}

/* Prints the verdict on the window in one line. */
static void print_verdict(const struct browse_weighing *weighing, const struct view *view,
			  struct sink *sink)
{
	struct selection *selection = window_of(weighing);
	struct verdict *verdict = verdict_new(selection);
	struct buf line = {0}, shown = {0};

	verdict_append_line(&line, verdict);
	append_cut(&shown, buf_str(&line), view->columns, CUT_END);
	line_print(sink, view, STYLE_PLAIN, buf_str(&shown));
	buf_release(&line);
	buf_release(&shown);
	verdict_free(verdict);
	selection_free(selection);
}

void top_print_head(const struct browse_weighing *weighing, const struct view *view,
		    struct sink *sink, const void *context)
{
	const struct top_state *state = context;
	const struct profile *profile = weighing->input.profile;
	struct buf line = {0}, shown = {0};

	if (state->paused)
		buf_append_str(&line, "PAUSED; ");
	if (state->awaited)
		buf_printf(&line, "waiting for a process of %s; ", state->awaited);
	append_activity(&line, weighing);
	append_amount(&line, weighing);
	append_title(&line, profile);
	append_cut(&shown, buf_str(&line), view->columns, CUT_END);
	line_print(sink, view, STYLE_HEADING, buf_str(&shown));
	top_print_memory(profile, browse_window_ns(&weighing->input), view, sink);
	if (profile->nr_samples)
		print_verdict(weighing, view, sink);
	buf_release(&line);
	buf_release(&shown);
}

static void print_table(const struct browse *browse, const struct view *view, size_t limit,
			struct sink *sink)
{
	const struct browse_wishes *wishes = browse_wishes_of(browse);
	const struct browse_weighing *weighing = browse_weighing_of(browse);
	struct flat *flat = flat_new(weighing->weights, wishes->by);
	struct view with_rate = *view;

	if (!dimension_info(wishes->by)->is_in_order)
		flat_sort(flat, wishes->sort, NULL);
	with_rate.rate_ns = browse_weighing_rate_ns(weighing);
	flat_print_text(flat, &with_rate, limit, sink);
	flat_free(flat);
}

static void print_nothing(const struct browse_weighing *weighing, const struct view *view,
			  struct sink *sink)
{
	const struct profile *profile = weighing->input.profile;
	bool is_memory = metric_is_memory(weighing->weights->metric);

	sink_str(sink, "nothing of this, so far\n");
	if (is_memory && profile->meta.attached)
		paragraph_print(view, "", "what was allocated before is not known", sink);
	else if (metric_is_of_samples(weighing->weights->metric) &&
		 profile_total(profile, METRIC_WALL))
		paragraph_print(view, "", "-m wall shows sleeping threads, too", sink);
}

void top_print(const struct browse *browse, const struct top_state *state, const struct view *view,
	       size_t limit, struct sink *sink)
{
	const struct browse_weighing *weighing = browse_weighing_of(browse);

	top_print_head(weighing, view, sink, state);
	sink_str(sink, "\n");
	if (weighing->weights->total.weight > 0)
		print_table(browse, view, limit == TOP_LIMIT_FITTING ? LIMIT_NO_SCREEN : limit,
			    sink);
	else
		print_nothing(weighing, view, sink);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/top_render.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/minmax.h"
#include "base/sink.h"
#include "calltree/count_history.h"
#include "calltree/counts.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/weights.h"
#include "profile/profile.h"
#include "view/cut.h"
#include "view/flat_text.h"
#include "view/line.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/summary.h"
#include "view/top_memory.h"
#include "view/top_state.h"

/* In the order of enum dimension. */
static const char *const dimension_words[] = {"function", "line",	 "file",
					      "module",	  "thread",	 "process",
					      "state",	  "system call", "lifetime"};

static uint64_t window_of(const struct top_frame *frame)
{
	uint64_t duration_ns = frame->profile->meta.duration_ns;

	return frame->state->all_time || frame->window_ns == 0 || frame->window_ns > duration_ns
		       ? duration_ns
		       : frame->window_ns;
}

/* From when on the calls of the window are known: not of all of it, but of as much as there is. */
static const struct count_moment *moment_of(const struct top_frame *frame)
{
	uint64_t from_ns = frame->profile->meta.duration_ns - window_of(frame);

	return frame->counts && from_ns > 0
		       ? count_history_find(frame->counts, frame->profile, from_ns)
		       : NULL;
}

/* "4.97 s of CPU time in the last 5.00 s, 2,480 samples" */
static void append_amount(struct buf *line, const struct top_frame *frame,
			  const struct weights *weights)
{
	if (metric_is_memory(weights->metric)) {
		top_append_amount(line, weights, window_of(frame));
		return;
	}
	append_weight(line, weights->metric, weights->total.weight);
	buf_append_str(line, summary_metric_words(weights->metric));
	buf_append_str(line, " in the last ");
	append_weight(line, METRIC_WALL, window_of(frame));
	if (weights->metric != METRIC_SAMPLES) {
		buf_append_str(line, ", ");
		append_weight(line, METRIC_SAMPLES, weights->total.samples);
	}
}

static void append_heading(struct buf *line, const struct top_frame *frame,
			   const struct weights *weights)
{
	struct buf title = {0};

	append_amount(line, frame, weights);
	profile_append_title(&title, frame->profile);
	if (title.nr_bytes > 0)
		buf_append_str(line, ": ");
	escape_terminal(line, buf_str(&title));
	buf_release(&title);
}

static void append_filter(struct buf *line, const char *what, const char *text)
{
	if (!*text)
		return;
	buf_printf(line, ", %s ", what);
	escape_terminal(line, text);
}

static void append_wishes(struct buf *line, const struct top_state *state)
{
	buf_printf(line, "by %s, most %s first", dimension_words[state->by],
		   state->by_total ? "total" : "self");
	append_filter(line, "function", state->function);
	append_filter(line, "thread", state->thread);
	if (state->paused)
		buf_append_str(line, ", PAUSED");
	buf_append_str(line, "   h: keys, q: quit");
}

static void append_prompt(struct buf *line, const struct top_state *state)
{
	buf_printf(line, "%s: ",
		   state->prompt == TOP_PROMPT_FUNCTION ? "function (regular expression)"
							: "thread (regular expression or id)");
	escape_terminal(line, state->input);
	buf_append_byte(line, '_');
}

static void print_cut(struct sink *sink, const struct top_frame *frame, enum style style,
		      struct buf *text)
{
	struct buf shown = {0};

	append_cut(&shown, buf_str(text), frame->view->columns, CUT_END);
	line_print(sink, frame->view, style, buf_str(&shown));
	buf_release(&shown);
	buf_clear(text);
}

/* The time in which the calls shown were counted; 0: there are none. */
static uint64_t counted_ns(const struct top_frame *frame, const struct weights *weights)
{
	const struct profile_probes *probes = &frame->profile->probes;
	const struct count_moment *since = moment_of(frame);
	uint64_t to_ns = count_history_time(frame->profile), from_ns = to_ns;

	if (weights->counts->state != COUNTS_KNOWN)
		return 0;
	for (size_t i = 0; i < probes->nr_counts; i++)
		from_ns = min_u64(from_ns, probes->counts[i].from_ns);
	if (since)
		from_ns = max_u64(from_ns, since->time_ns);
	return to_ns - from_ns;
}

/* Lines below the heading that are no rows: columns, and "and N more". */
#define OTHER_LINES	2
#define LIMIT_NO_SCREEN 20

static size_t nr_lines_in(const struct sink *sink)
{
	size_t nr = 0;

	for (size_t i = 0; i < sink->pending.nr_bytes; i++)
		nr += sink->pending.bytes[i] == '\n';
	return nr;
}

static size_t limit_of(const struct top_frame *frame, size_t nr_lines_used)
{
	if (frame->limit != TOP_LIMIT_FITTING)
		return frame->limit;
	if (!frame->nr_lines)
		return LIMIT_NO_SCREEN;
	nr_lines_used += OTHER_LINES;
	return frame->nr_lines > nr_lines_used ? frame->nr_lines - nr_lines_used : 1;
}

static void print_table(struct sink *sink, const struct top_frame *frame,
			const struct weights *weights)
{
	struct view view = *frame->view;
	struct flat *flat = flat_new(weights, frame->state->by);

	if (frame->state->by_total)
		flat_sort(flat, "total", NULL);
	view.rate_ns = counted_ns(frame, weights);
	flat_print_text(flat, &view, limit_of(frame, nr_lines_in(sink)), sink);
	flat_free(flat);
}

/* And what may be done about it. */
static const char *hint_at_more(const struct top_frame *frame)
{
	const struct top_state *state = frame->state;

	if (frame->has_keys && (*state->function || *state->thread))
		return "/ and t ask again; nothing: all";
	if (metric_is_memory(state->metric))
		return frame->profile->meta.attached ? "what was allocated before is not known"
						     : "";
	if (!profile_total(frame->profile, METRIC_WALL))
		return "";
	return frame->has_keys ? "m goes on to other metrics: wall shows sleeping threads, too"
			       : "-m wall shows sleeping threads, too";
}

static void print_nothing(struct sink *sink, const struct top_frame *frame)
{
	const char *hint = hint_at_more(frame);

	sink_str(sink, "nothing of this, so far\n");
	if (*hint)
		paragraph_print(frame->view, "", hint, sink);
}

static void print_help(struct sink *sink, const struct top_frame *frame)
{
	for (const struct top_key *key = top_state_help(); key->keys; key++)
		paragraph_print(frame->view, key->keys, key->words, sink);
}

static void print_weighed(struct sink *sink, const struct top_frame *frame,
			  const struct weights *weights)
{
	struct buf line = {0};

	append_heading(&line, frame, weights);
	print_cut(sink, frame, STYLE_HEADING, &line);
	top_print_memory(frame->profile, window_of(frame), frame->view, sink);
	if (frame->state->prompt != TOP_PROMPT_NONE)
		append_prompt(&line, frame->state);
	else if (frame->has_keys)
		append_wishes(&line, frame->state);
	if (line.nr_bytes)
		print_cut(sink, frame, STYLE_PLAIN, &line);
	buf_release(&line);
	sink_str(sink, "\n");
	if (frame->state->help)
		print_help(sink, frame);
	else if (weights->total.weight > 0)
		print_table(sink, frame, weights);
	else
		print_nothing(sink, frame);
}

static struct filter filter_of(const struct top_frame *frame, const char **function,
			       const char **thread)
{
	uint64_t duration_ns = frame->profile->meta.duration_ns;

	*function = frame->state->function;
	*thread = frame->state->thread;
	return (struct filter){.functions = {.texts = function, .nr = **function != '\0'},
			       .threads = {.texts = thread, .nr = **thread != '\0'},
			       .from_ns = top_is_of_now(frame->state->metric)
						  ? 0
						  : duration_ns - window_of(frame)};
}

void top_render(const struct top_frame *frame, struct buf *out)
{
	struct expansion *expansion = expansion_new(frame->profile, false);
	const char *function, *thread;
	struct filter filter = filter_of(frame, &function, &thread);
	struct selection *selection = NULL;
	struct sink sink = SINK_MEMORY;
	struct err err = ERR_INIT;

	if (selection_new(expansion, &filter, &selection, &err) == 0) {
		struct weights *weights =
			weights_new_since(selection, frame->state->metric, moment_of(frame));

		print_weighed(&sink, frame, weights);
		weights_free(weights);
	} else {
		sink_printf(&sink, "%s\n", err.what);
		if (frame->state->prompt == TOP_PROMPT_NONE)
			sink_str(&sink, "/ and t ask again; nothing: all\n");
	}
	buf_append(out, sink.pending.bytes, sink.pending.nr_bytes);
	sink_release(&sink);
	selection_free(selection);
	expansion_free(expansion);
}

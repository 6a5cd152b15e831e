// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory in the heading of `top`. */
#include "view/top_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "calltree/weights.h"
#include "profile/heap_estimate.h"
#include "profile/heap_survey.h"
#include "view/line.h"
#include "view/number.h"
#include "view/summary.h"

/*
 * Bytes a process had allocated by a moment, from the last figures before and the first after it.
 */
struct passage {
	uint64_t before_ns, before_bytes, after_ns, after_bytes, last_bytes;
	bool has_after;
};

static struct passage *find_passages(const struct profile *profile, uint64_t at_ns)
{
	struct passage *passages = xcalloc(profile->nr_processes, sizeof(*passages));

	for (size_t i = 0; i < profile->nr_processes; i++)
		passages[i].before_ns = profile->processes[i].start_ns;
	for (size_t i = 0; i < profile->heap.nr_moments; i++) {
		const struct profile_heap_moment *moment = &profile->heap.moments[i];
		struct passage *passage = &passages[moment->process];

		passage->last_bytes = moment->allocated_bytes;
		if (moment->time_ns <= at_ns) {
			passage->before_ns = moment->time_ns;
			passage->before_bytes = moment->allocated_bytes;
		} else if (!passage->has_after) {
			passage->has_after = true;
			passage->after_ns = moment->time_ns;
			passage->after_bytes = moment->allocated_bytes;
		}
	}
	return passages;
}

/* Assumes that the process allocated evenly in between. */
static double bytes_since(const struct passage *passage, uint64_t at_ns)
{
	double share = 0;

	if (!passage->has_after)
		return 0;
	if (at_ns > passage->before_ns && passage->after_ns > passage->before_ns)
		share = (double)(at_ns - passage->before_ns) /
			(double)(passage->after_ns - passage->before_ns);
	return (double)passage->last_bytes - (double)passage->before_bytes -
	       share * ((double)passage->after_bytes - (double)passage->before_bytes);
}

static double bytes_per_second(const struct profile *profile, uint64_t window_ns)
{
	uint64_t at_ns = profile->meta.duration_ns - min_u64(profile->meta.duration_ns, window_ns);
	struct passage *passages = find_passages(profile, at_ns);
	double sum = 0;

	for (size_t i = 0; i < profile->nr_processes; i++)
		sum += bytes_since(&passages[i], at_ns);
	free(passages);
	return window_ns ? sum * (double)NS_PER_SEC / (double)window_ns : 0;
}

/* The first RSS of the attached processes; 0: there were none. */
static uint64_t rss_at_first(const struct profile *profile)
{
	bool *is_known = xcalloc(profile->nr_processes, sizeof(*is_known));
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->heap.nr_moments && profile->meta.attached; i++) {
		const struct profile_heap_moment *moment = &profile->heap.moments[i];

		if (is_known[moment->process] ||
		    profile->processes[moment->process].parent != PROCESS_NONE)
			continue;
		is_known[moment->process] = true;
		sum += moment->rss_anon_bytes + moment->rss_file_bytes + moment->rss_shmem_bytes;
	}
	free(is_known);
	return sum;
}

/* Parts of a line, separated by commas; a part that does not fit goes to the next line. */
struct parts {
	struct sink *sink;
	const struct view *view;
	struct buf line, part;
};

static void end_line(struct parts *parts, const char *behind)
{
	buf_append_str(&parts->line, behind);
	line_print(parts->sink, parts->view, STYLE_PLAIN, buf_str(&parts->line));
	buf_clear(&parts->line);
}

/* The parts are ASCII. */
static void end_part(struct parts *parts)
{
	size_t nr_columns = parts->line.nr_bytes + strlen(", ") + parts->part.nr_bytes + 1;

	if (parts->line.nr_bytes && nr_columns > parts->view->columns)
		end_line(parts, ",");
	buf_append_str(&parts->line, parts->line.nr_bytes ? ", " : "");
	buf_append_str(&parts->line, buf_str(&parts->part));
	buf_clear(&parts->part);
}

static void add_bytes(struct parts *parts, const char *what, double bytes)
{
	buf_append_str(&parts->part, what);
	append_memory(&parts->part, bytes > 0 ? (uint64_t)(bytes + 0.5) : 0);
}

void top_print_memory(const struct profile *profile, uint64_t window_ns, const struct view *view,
		      struct sink *sink)
{
	struct parts parts = {.sink = sink, .view = view};
	uint64_t at_first = rss_at_first(profile);
	struct heap_survey survey;

	if (!profile_has_heap(profile))
		return;
	heap_survey(&survey, profile);
	add_bytes(&parts, "live ", survey.live.bytes);
	end_part(&parts);
	add_bytes(&parts, "allocated ", survey.allocated.bytes);
	end_part(&parts);
	add_bytes(&parts, "", bytes_per_second(profile, window_ns));
	buf_append_str(&parts.part, "/s");
	end_part(&parts);
	if (survey.has_moments) {
		add_bytes(&parts, "RSS ",
			  (double)(survey.rss_anon_bytes + survey.rss_file_bytes +
				   survey.rss_shmem_bytes));
		/* No table shows the memory from before the recording. */
		if (at_first) {
			add_bytes(&parts, " (", (double)at_first);
			buf_append_str(&parts.part, " at first)");
		}
		end_part(&parts);
	}
	end_line(&parts, "");
	buf_release(&parts.line);
	buf_release(&parts.part);
}

bool top_is_of_now(enum metric metric)
{
	return metric == METRIC_LIVE || metric == METRIC_PEAK || metric == METRIC_LEAKED;
}

void top_append_amount(struct buf *line, const struct weights *weights, uint64_t window_ns)
{
	uint64_t error = (uint64_t)tally_error(&weights->total, &weights->total);
	uint64_t blocks = tally_blocks(&weights->total);

	append_weight(line, weights->metric, weights->total.weight);
	if (error) {
		buf_append_str(line, " \xc2\xb1 ");
		append_weight(line, weights->metric, error);
	}
	buf_append_str(line, metric_info(weights->metric)->amount_words);
	if (weights->at_ns != HEAP_AT_END) {
		buf_append_str(line, ", at ");
		append_weight(line, METRIC_WALL, weights->at_ns);
	}
	if (!top_is_of_now(weights->metric)) {
		buf_append_str(line, " in the last ");
		append_weight(line, METRIC_WALL, window_ns);
	}
	if (weights->metric != METRIC_ALLOCS) {
		buf_append_str(line, ", ");
		append_weight(line, METRIC_ALLOCS, blocks);
	}
	if (weights->total.samples != blocks && !tally_is_exact(&weights->total)) {
		buf_append_str(line, ", ");
		append_count(line, weights->total.samples);
		buf_append_str(line, " of them recorded");
	}
}

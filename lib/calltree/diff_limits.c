// SPDX-License-Identifier: GPL-2.0-or-later
/* Limits of growth between two profiles, or between several runs and several others. */
#include "calltree/diff_limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "calltree/diff.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"

#define MOST_PERCENT 1e6
#define OF_CALLS     "calls="

/* Parse "5" or "5%", up to a comma or the end of the text; *rest is set to that. */
static bool parse_percent(const char *text, double *percent, const char **rest)
{
	char *end;

	*percent = strtod(text, &end);
	*rest = end + (*end == '%');
	return end != text && (**rest == ',' || !**rest) && *percent >= 0 &&
	       *percent <= MOST_PERCENT;
}

/* Parse the metric before a '=', which is at `end`. */
static bool parse_metric(const char *text, const char *end, enum metric *metric)
{
	cleanup_free char *name = xmemdup(text, (size_t)(end - text) + 1);

	name[end - text] = '\0';
	return metric_parse(name, metric);
}

static bool parse_limit(const char **at, enum metric standard, struct diff_limit *limit)
{
	const char *equals = strchr(*at, '='), *value = *at;

	*limit = (struct diff_limit){.metric = standard};
	if (strncmp(*at, OF_CALLS, strlen(OF_CALLS)) == 0) {
		limit->of_calls = true;
		value += strlen(OF_CALLS);
	} else if (equals && equals < *at + strcspn(*at, ",")) {
		if (!parse_metric(*at, equals, &limit->metric))
			return false;
		value = equals + 1;
	}
	return parse_percent(value, &limit->percent, at);
}

int diff_limits_parse(const char *text, enum metric standard, struct diff_limits_list *list,
		      struct err *err)
{
	const char *at = text;

	*list = (struct diff_limits_list){0};
	do {
		if (list->nr == DIFF_LIMITS_MAX ||
		    !parse_limit(&at, standard, &list->at[list->nr++])) {
			err_set(err, ERR_INVALID, "'%s' is no limit", text);
			err_hint(err, "a percentage, or some of what is limited: "
				      "calls=0.1%%,alloc=1%%,cpu=5%%");
			return ERR_INVALID;
		}
	} while (*at++ == ',');
	return 0;
}

/* `half` 0: the values are exact. */
static void append_growth(struct buf *why, double change, double half, double limit)
{
	buf_printf(why, " grew by %.1f%%", change);
	if (half > 0)
		buf_printf(why, " \xc2\xb1 %.1f", half);
	buf_printf(why, ", more than %g%%", limit);
}

static void append_row_name(struct buf *why, const struct diff *diff, const struct diff_row *row)
{
	const struct diff_at *at = diff_known_at(row);
	const struct flat *flat = diff->flats[at->run];

	flat_append_name(why, flat, &flat->rows[at->row], NAME_SHORT);
}

/*
 * Have the calls of a function grown by more? The function with the largest growth is the reason.
 */
static bool calls_exceed(const struct diff *diff, double percent, struct buf *why)
{
	const struct diff_row *most = NULL;
	double growth = percent;

	for (size_t i = 0; i < diff->nr; i++) {
		const struct diff_row *row = &diff->rows[i];
		double before = (double)diff_mean_calls(&diff->old_side, &row->old_calls);
		double after = (double)diff_mean_calls(&diff->new_side, &row->new_calls);
		double change = before > 0 ? 100 * (after - before) / before : INFINITY;

		if (!row->old_calls.counted || !row->new_calls.counted || after <= before ||
		    change <= growth)
			continue;
		most = row;
		growth = change;
	}
	if (!most)
		return false;
	buf_append_str(why, "calls of ");
	append_row_name(why, diff, most);
	if (isinf(growth))
		buf_printf(why, ": there were none before");
	else
		append_growth(why, growth, 0, percent);
	return true;
}

bool diff_exceeds(const struct diff *diff, const struct diff_limit *limit, struct buf *why)
{
	double change = diff_total_change(diff), half = diff_total_half(diff);

	buf_printf(why, "%s: ", metric_name(limit->metric));
	if (diff->mode == DIFF_AMOUNTS && change - half > limit->percent) {
		buf_append_str(why, "the total");
		append_growth(why, change, half, limit->percent);
		return true;
	}
	for (size_t i = 0; i < diff->nr; i++) {
		const struct diff_row *row = &diff->rows[i];

		if (row->change - row->half <= limit->percent)
			continue;
		append_row_name(why, diff, row);
		append_growth(why, row->change, row->half, limit->percent);
		buf_append_str(why, " of the old total");
		return true;
	}
	buf_clear(why);
	return false;
}

static bool is_any_counted(const struct diff *diff)
{
	for (size_t i = 0; i < diff->nr; i++)
		if (diff->rows[i].old_calls.counted && diff->rows[i].new_calls.counted)
			return true;
	return false;
}

static int check_diff(const struct diff *diff, const struct diff_limit *limit, struct buf *why,
		      struct err *err)
{
	if (!limit->of_calls)
		return diff_exceeds(diff, limit, why);
	if (!is_any_counted(diff))
		return err_set(err, ERR_NOT_FOUND,
			       "calls are limited, but no function was counted on both sides");
	return calls_exceed(diff, limit->percent, why);
}

/* Weigh the runs of both sides in the limited metric, which all of them must have. */
static int weigh_runs(const struct diff_request *request, const struct diff_limit *limit,
		      const struct weights **weights, struct err *err)
{
	for (size_t i = 0; i < request->nr_old + request->nr_new; i++) {
		const struct weights *shown = i < request->nr_old
						      ? request->old_runs[i]
						      : request->new_runs[i - request->nr_old];

		if (!limit->of_calls &&
		    !profile_has_metric(shown->selection->expansion->profile, limit->metric))
			return err_set(err, ERR_NOT_FOUND,
				       "%s is limited, but was not recorded on both sides",
				       metric_name(limit->metric));
		weights[i] = weights_new(shown->selection,
					 limit->of_calls ? shown->metric : limit->metric);
	}
	return 0;
}

int diff_limit_exceeded(const struct diff_request *request, const struct diff_limit *limit,
			struct buf *why, struct err *err)
{
	size_t nr = request->nr_old + request->nr_new;
	const struct weights **weights = xcalloc(nr, sizeof(*weights));
	struct diff_request limited = *request;
	int status = weigh_runs(request, limit, weights, err);
	struct diff *diff;

	if (status == 0) {
		limited.old_runs = weights;
		limited.new_runs = weights + request->nr_old;
		if (limit->of_calls)
			limited.by = BY_FUNCTION;
		diff = diff_new(&limited);
		status = check_diff(diff, limit, why, err);
		diff_free(diff);
	}
	for (size_t i = 0; i < nr; i++)
		weights_free((struct weights *)(uintptr_t)weights[i]);
	free(weights);
	return status;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses the options that filter samples. */
#include "cmd/filter_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/duration_text.h"
#include "base/err.h"

#define MARK "mark:"

/* A time, or a mark: its text is borrowed. What is open stays as the caller has set it. */
static int parse_place(const char *text, size_t length, uint64_t *ns, struct mark_name *mark,
		       struct err *err)
{
	cleanup_free char *copy = xstrndup(text, length);

	if (!length)
		return 0;
	if (strncmp(copy, MARK, strlen(MARK)) != 0)
		return duration_parse(copy, ns, err);
	if (length == strlen(MARK))
		return err_set(err, ERR_INVALID, "'%s' does not name a mark", copy);
	*mark = (struct mark_name){.text = text + strlen(MARK), .nr_bytes = length - strlen(MARK)};
	return 0;
}

/* A or B of A..B. */
static int parse_bound(const char *text, size_t length, uint64_t *ns, struct mark_name *mark,
		       bool *before_trigger, struct err *err)
{
	*before_trigger = length && *text == '-';
	if (*before_trigger && (length == 1 || strncmp(text + 1, MARK, strlen(MARK)) == 0))
		return err_set(err, ERR_INVALID, "a time is missing after '-'");
	return parse_place(text + *before_trigger, length - *before_trigger, ns, mark, err);
}

static int parse_parts(const char *text, const char *dots, struct filter *filter, struct err *err)
{
	const char *end = dots + strlen("..");
	int status = parse_bound(text, (size_t)(dots - text), &filter->from_ns, &filter->from_mark,
				 &filter->from_before_trigger, err);

	return status ? status
		      : parse_bound(end, strlen(end), &filter->to_ns, &filter->to_mark,
				    &filter->to_before_trigger, err);
}

/* The two between A and B, or NULL: the text of a mark may have some of its own. */
static const char *find_dots(const char *text)
{
	const char *first = strstr(text, "..");
	struct filter filter;

	for (const char *dots = first; dots; dots = strstr(dots + 1, "..")) {
		if (parse_parts(text, dots, &filter, NULL) == 0)
			return dots;
	}
	return first;
}

/* Is that known without the recording? */
static bool ends_before_it_starts(const struct filter *filter, bool has_end)
{
	if (!has_end || filter->from_mark.nr_bytes || filter->to_mark.nr_bytes ||
	    filter->from_before_trigger != filter->to_before_trigger)
		return false;
	return filter->from_before_trigger ? filter->from_ns <= filter->to_ns
					   : filter->to_ns <= filter->from_ns;
}

static int parse_range(const char *text, struct filter *filter, struct err *err)
{
	const char *dots = find_dots(text);
	int status;

	if (!dots || strcmp(text, "..") == 0)
		return err_set(err, ERR_INVALID, "--time needs A..B, not '%s'", text);
	status = parse_parts(text, dots, filter, err);
	if (status) {
		err_prefix(err, "--time");
		return status;
	}
	if (ends_before_it_starts(filter, dots[2]))
		return err_set(err, ERR_INVALID, "--time %s ends before it starts", text);
	return 0;
}

bool filter_options_is_range(const char *text)
{
	struct filter filter = {0};

	return parse_range(text, &filter, NULL) == 0 || (*text == '-' && strstr(text, ".."));
}

static int parse_moment(const char *text, struct heap_filter *filter, struct err *err)
{
	int status = 0;

	filter->at = FILTER_AT_TIME;
	if (strcmp(text, "peak") == 0)
		filter->at = FILTER_AT_PEAK;
	else
		status = parse_place(text, strlen(text), &filter->at_ns, &filter->at_mark, err);
	if (filter->at_mark.nr_bytes)
		filter->at = FILTER_AT_MARK;
	if (status == 0 && !*text)
		status = err_set(err, ERR_INVALID, "needs a time, 'peak' or 'mark:TEXT'");
	if (status)
		err_prefix(err, "--at");
	return status;
}

/* Digits; nothing is `open`. */
static bool parse_number(const char *text, size_t length, uint32_t open, uint32_t *number)
{
	uint64_t value = 0;

	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9' || value > UINT32_MAX / 10)
			return false;
		value = 10 * value + (uint64_t)(text[i] - '0');
	}
	*number = length ? (uint32_t)value : open;
	return true;
}

/* "N", "A..B", "A.." or "..B". */
static int parse_parallelism(const char *text, struct parallelism_range *range, struct err *err)
{
	const char *dots = strstr(text, "..");
	const char *end = dots ? dots + strlen("..") : text;
	size_t length = dots ? (size_t)(dots - text) : strlen(text);

	range->is_given = true;
	if (length + strlen(end) && parse_number(text, length, 0, &range->from) &&
	    parse_number(end, strlen(end), UINT32_MAX, &range->to) && range->from <= range->to)
		return 0;
	err_set(err, ERR_INVALID, "--parallelism needs a number of threads, not '%s'", text);
	err_hint(err, "as 1, or a range: 2..4, 3..");
	return ERR_INVALID;
}

static struct pattern_list patterns(const struct option_list *list)
{
	return (struct pattern_list){.texts = list->values, .nr = list->nr};
}

int filter_options_apply(const struct filter_options *options, struct filter *filter,
			 struct err *err)
{
	*filter = (struct filter){
		.threads = patterns(&options->threads),
		.processes = patterns(&options->processes),
		.modules = patterns(&options->modules),
		.functions = patterns(&options->functions),
		.labels = patterns(&options->labels),
		.shape = {.focus = patterns(&options->focus), .hide = patterns(&options->hide)}};
	filter->heap.temporary_ns = options->temporary_ns;
	filter->slow.text = options->slow;
	if (options->parallelism &&
	    parse_parallelism(options->parallelism, &filter->parallelism, err))
		return ERR_INVALID;
	if (options->at && parse_moment(options->at, &filter->heap, err))
		return ERR_INVALID;
	return options->time ? parse_range(options->time, filter, err) : 0;
}

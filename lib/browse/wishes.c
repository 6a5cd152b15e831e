// SPDX-License-Identifier: GPL-2.0-or-later
/* The user's choice of metric, rows, order and filters. */
#include "browse/wishes.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "view/cut.h"

#define BIT(metric) (UINT32_C(1) << (metric))

uint32_t browse_metrics_of(const struct profile *profile)
{
	uint32_t metrics = 0;

	for (int metric = 0; metric < METRIC_COUNT; metric++)
		if (profile_has_metric(profile, (enum metric)metric))
			metrics |= BIT(metric);
	return metrics;
}

void browse_wishes_next_metric(struct browse_wishes *wishes)
{
	int metric = wishes->metric;

	do
		metric = (metric + 1) % METRIC_COUNT;
	while (metric != (int)wishes->metric && !(wishes->metrics & BIT(metric)));
	wishes->metric = (enum metric)metric;
	if (!dimension_divides(wishes->by, wishes->metric))
		wishes->by = BY_FUNCTION;
}

void browse_wishes_next_dimension(struct browse_wishes *wishes)
{
	do
		wishes->by = dimension_names[wishes->by + 1] ? (enum dimension)(wishes->by + 1)
							     : BY_FUNCTION;
	while (!dimension_divides(wishes->by, wishes->metric) || dimension_needs_key(wishes->by) ||
	       (dimension_info(wishes->by)->needs_marks && !wishes->has_marks) ||
	       (dimension_info(wishes->by)->needs_scripts && !wishes->has_scripts));
	if (wishes->by != BY_FUNCTION && strcmp(wishes->sort, "calls") == 0)
		wishes->sort = "self"; /* only functions have calls */
}

/* Orders with their names. */
struct sort_words {
	const char *keys, *words;
};

static const struct sort_words sorts[] = {
	{"self", "most self first"},
	{"total", "most total first"},
	{"name", "sorted by name"},
	{"calls", "most calls first"},
};

static size_t find_sort(const char *keys)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(sorts) && strcmp(sorts[i].keys, keys) != 0)
		i++;
	return i;
}

void browse_wishes_next_sort(struct browse_wishes *wishes, bool has_calls)
{
	size_t nr = ARRAY_SIZE(sorts) - !has_calls, i = find_sort(wishes->sort);

	wishes->sort = sorts[i + 1 < nr ? i + 1 : 0].keys;
}

static void append_filter(struct buf *out, const char *what, const char *text)
{
	if (!*text)
		return;
	buf_printf(out, ", %s ", what);
	escape_terminal(out, text);
}

void browse_wishes_append_filters(struct buf *out, const struct browse_wishes *wishes)
{
	append_filter(out, "function", wishes->function);
	append_filter(out, "thread", wishes->thread);
	append_filter(out, "process", wishes->process);
	append_filter(out, "module", cut_directories(wishes->module));
}

bool browse_wishes_are_filtered(const struct browse_wishes *wishes)
{
	return *wishes->function || *wishes->thread || *wishes->process || *wishes->module;
}

void browse_wishes_drop_filters(struct browse_wishes *wishes)
{
	wishes->function[0] = wishes->thread[0] = wishes->process[0] = wishes->module[0] = '\0';
}

void browse_wishes_append(struct buf *out, const struct browse_wishes *wishes)
{
	size_t sort = find_sort(wishes->sort);

	buf_printf(out, "by %s, ", dimension_names[wishes->by]);
	if (wishes->by == BY_LIFETIME)
		buf_append_str(out, "shortest first");
	else if (wishes->by == BY_MARK)
		buf_append_str(out, "in the order of time");
	else if (sort < ARRAY_SIZE(sorts))
		buf_append_str(out, sorts[sort].words);
	else
		buf_printf(out, "by %s", wishes->sort);
	browse_wishes_append_filters(out, wishes);
}

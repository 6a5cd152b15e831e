// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/filter_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"

static int parse_bound(const char *text, size_t length, uint64_t *ns, struct err *err)
{
	cleanup_free char *copy = xstrndup(text, length);

	if (!length)
		return 0; /* open: as the caller has set it */
	return duration_parse(copy, ns, err);
}

static int parse_range(const char *text, struct filter *filter, struct err *err)
{
	const char *dots = strstr(text, "..");
	uint64_t from_ns = 0;
	uint64_t to_ns = 0;
	int status;

	if (!dots || strcmp(text, "..") == 0)
		return err_set(err, ERR_INVALID, "--time wants A..B, not '%s'", text);
	status = parse_bound(text, (size_t)(dots - text), &from_ns, err);
	if (!status)
		status = parse_bound(dots + 2, strlen(dots + 2), &to_ns, err);
	if (status) {
		err_prefix(err, "--time");
		return status;
	}
	if (dots[2] && to_ns <= from_ns)
		return err_set(err, ERR_INVALID, "--time %s ends before it begins", text);
	filter->from_ns = from_ns;
	filter->to_ns = to_ns;
	return 0;
}

static struct pattern_list patterns(const struct option_list *list)
{
	return (struct pattern_list){.texts = list->values, .nr = list->nr};
}

int filter_options_apply(const struct filter_options *options, struct filter *filter,
			 struct err *err)
{
	*filter = (struct filter){.threads = patterns(&options->threads),
				  .processes = patterns(&options->processes),
				  .modules = patterns(&options->modules),
				  .functions = patterns(&options->functions)};
	return options->time ? parse_range(options->time, filter, err) : 0;
}

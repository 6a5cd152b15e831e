// SPDX-License-Identifier: GPL-2.0-or-later
/* `profc report --slow`: how slow calls of a function differ from the others. */
#include "cmd/report_slow.h"

#include "base/err.h"
#include "calltree/filter.h"
#include "calltree/slow_difference.h"
#include "cmd/command.h"
#include "cmd/filter_options.h"
#include "cmd/pager.h"
#include "cmd/view_options.h"
#include "cmd/weighed.h"
#include "profile/metric.h"
#include "view/slow_text.h"

int report_slow(const struct command *self, const char *input, const struct filter_options *filter,
		const struct view_options *options, uint64_t limit, bool json)
{
	struct filter all;
	const struct weigh_request request = {.input = input,
					      .filter = &all,
					      .metric = METRIC_WALL,
					      .with_kernel = filter->kernel,
					      .with_native = filter->native};
	const struct view view = view_options_resolve(options);
	struct slow_difference *difference;
	struct weighed weighed = {0};
	struct err err = ERR_INIT;
	struct pager pager;
	int status;

	if (filter_options_apply(filter, &all, &err))
		return fail_or_usage_error(self, &err);
	all.slow.which = FILTER_ALL_CALLS;
	status = weighed_open(&weighed, self, &request);
	if (status == EXIT_DONE) {
		difference = slow_difference_new(weighed.selection);
		pager_begin(&pager, !options->no_pager && !json);
		if (json)
			slow_print_json(difference, &pager.sink);
		else
			slow_print_text(difference, limit, &view, &pager.sink);
		status = pager_end(&pager);
		slow_difference_free(difference);
	}
	weighed_close(&weighed);
	return status;
}

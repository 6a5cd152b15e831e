// SPDX-License-Identifier: GPL-2.0-or-later
/* `profc report --wakers`: what ended the waits. */
#include "cmd/report_wakers.h"

#include "base/err.h"
#include "calltree/blame.h"
#include "calltree/filter.h"
#include "calltree/wakers.h"
#include "cmd/command.h"
#include "cmd/filter_options.h"
#include "cmd/pager.h"
#include "cmd/view_options.h"
#include "cmd/weighed.h"
#include "profile/metric.h"
#include "view/wakers_text.h"

static int print(const struct weighed *weighed, const struct view_options *options, uint64_t limit,
		 bool json)
{
	const struct view view = view_options_resolve(options);
	struct wakers *wakers = wakers_new(weighed->selection);
	struct pager pager;

	pager_begin(&pager, !options->no_pager && !json);
	if (json)
		wakers_print_json(wakers, limit, &pager.sink);
	else
		wakers_print_text(wakers, limit, &view, &pager.sink);
	wakers_free(wakers);
	return pager_end(&pager);
}

int report_wakers(const struct command *self, const char *input,
		  const struct filter_options *filter, const struct view_options *options,
		  uint64_t limit, bool json)
{
	struct filter all;
	const struct weigh_request request = {.input = input,
					      .filter = &all,
					      .metric = METRIC_BLOCKED,
					      .with_kernel = filter->kernel,
					      .with_native = filter->native};
	struct weighed weighed = {0};
	struct err err = ERR_INIT;
	int status;

	if (filter_options_apply(filter, &all, &err))
		return fail_or_usage_error(self, &err);
	status = weighed_open(&weighed, self, &request);
	if (status == EXIT_DONE && blame_require(weighed.profile, &err))
		status = fail_with(&err);
	if (status == EXIT_DONE)
		status = print(&weighed, options, limit, json);
	weighed_close(&weighed);
	return status;
}

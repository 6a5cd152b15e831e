// SPDX-License-Identifier: GPL-2.0-or-later
/* `profc report --wakers` and `--chain`: what ended the waits. */
#include "cmd/report_waits.h"

#include "base/err.h"
#include "calltree/blame.h"
#include "calltree/chain.h"
#include "calltree/filter.h"
#include "calltree/wakers.h"
#include "cmd/command.h"
#include "cmd/filter_options.h"
#include "cmd/pager.h"
#include "cmd/view_options.h"
#include "cmd/weighed.h"
#include "profile/metric.h"
#include "view/chain_text.h"
#include "view/wakers_text.h"

struct printing {
	uint64_t limit;
	bool json;
};

static void print_wakers(const struct selection *selection, const struct printing *how,
			 const struct view *view, struct sink *sink)
{
	struct wakers *wakers = wakers_new(selection);

	if (how->json)
		wakers_print_json(wakers, how->limit, sink);
	else
		wakers_print_text(wakers, how->limit, view, sink);
	wakers_free(wakers);
}

static void print_chain(const struct selection *selection, const struct printing *how,
			const struct view *view, struct sink *sink)
{
	struct chain *chain = chain_new(selection);

	if (how->json)
		chain_print_json(chain, how->limit, sink);
	else
		chain_print_text(chain, how->limit, view, sink);
	chain_free(chain);
}

static const struct {
	enum metric metric;
	void (*print)(const struct selection *selection, const struct printing *how,
		      const struct view *view, struct sink *sink);
} reports[] = {
	[REPORT_WAKERS] = {METRIC_BLOCKED, print_wakers},
	[REPORT_CHAIN] = {METRIC_ELAPSED, print_chain},
};

int report_waits(const struct command *self, const char *input, const struct filter_options *filter,
		 const struct view_options *options, enum report_of_waits what, uint64_t limit,
		 bool json)
{
	struct filter all;
	const struct weigh_request request = {.input = input,
					      .filter = &all,
					      .metric = reports[what].metric,
					      .with_kernel = filter->kernel,
					      .with_native = filter->native};
	const struct printing how = {.limit = limit, .json = json};
	const struct view view = view_options_resolve(options);
	struct weighed weighed = {0};
	struct err err = ERR_INIT;
	struct pager pager;
	int status;

	if (filter_options_apply(filter, &all, &err))
		return fail_or_usage_error(self, &err);
	status = weighed_open(&weighed, self, &request);
	if (status == EXIT_DONE && blame_require(weighed.profile, &err))
		status = fail_with(&err);
	if (status == EXIT_DONE) {
		pager_begin(&pager, !options->no_pager && !json);
		reports[what].print(weighed.selection, &how, &view, &pager.sink);
		status = pager_end(&pager);
	}
	weighed_close(&weighed);
	return status;
}

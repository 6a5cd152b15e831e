// SPDX-License-Identifier: GPL-2.0-or-later
/* The reports of `profc report` that are tables of their own. */
#include "cmd/report_table.h"

#include "base/err.h"
#include "calltree/blame.h"
#include "calltree/chain.h"
#include "calltree/filter.h"
#include "calltree/slow_difference.h"
#include "calltree/wakers.h"
#include "cmd/command.h"
#include "cmd/filter_options.h"
#include "cmd/pager.h"
#include "cmd/view_options.h"
#include "cmd/weighed.h"
#include "profile/metric.h"
#include "view/chain_text.h"
#include "view/slow_text.h"
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

static void print_slow(const struct selection *selection, const struct printing *how,
		       const struct view *view, struct sink *sink)
{
	struct slow_difference *difference = slow_difference_new(selection);

	if (how->json)
		slow_print_json(difference, sink);
	else
		slow_print_text(difference, how->limit, view, sink);
	slow_difference_free(difference);
}

/* Threads are followed whole, so that no part of their time can be left out. */
static int check_chain(const struct filter *filter, struct err *err)
{
	const char *option = filter->modules.nr		    ? "module"
			     : filter->functions.nr	    ? "function"
			     : filter->labels.nr	    ? "label"
			     : filter->shape.focus.nr	    ? "focus"
			     : filter->shape.hide.nr	    ? "hide"
			     : filter->parallelism.is_given ? "parallelism"
							    : NULL;

	return option ? err_set(err, ERR_INVALID,
				"--%s cannot be combined with --chain, whose filters are --thread, "
				"--process, --time and --slow",
				option)
		      : 0;
}

static const struct {
	enum metric metric;
	enum filter_calls calls;
	bool is_of_waits;
	int (*check)(const struct filter *filter, struct err *err); /* NULL: any filter */
	void (*print)(const struct selection *selection, const struct printing *how,
		      const struct view *view, struct sink *sink);
} tables[] = {
	[REPORT_WAKERS] = {METRIC_BLOCKED, FILTER_SLOW_CALLS, true, NULL, print_wakers},
	[REPORT_CHAIN] = {METRIC_WALL, FILTER_SLOW_CALLS, true, check_chain, print_chain},
	[REPORT_SLOW] = {METRIC_WALL, FILTER_ALL_CALLS, false, NULL, print_slow},
};

int report_table(const struct command *self, const char *input, const struct filter_options *filter,
		 const struct view_options *options, enum report_table table, uint64_t limit,
		 bool json)
{
	struct filter all;
	const struct weigh_request request = {.input = input,
					      .filter = &all,
					      .metric = tables[table].metric,
					      .with_kernel = filter->kernel,
					      .with_native = filter->native};
	const struct printing how = {.limit = limit, .json = json};
	const struct view view = view_options_resolve(options);
	struct weighed weighed = {0};
	struct err err = ERR_INIT;
	struct pager pager;
	int status;

	if (filter_options_apply(filter, &all, &err) ||
	    (tables[table].check && tables[table].check(&all, &err)))
		return fail_or_usage_error(self, &err);
	all.slow.which = tables[table].calls;
	status = weighed_open(&weighed, self, &request);
	if (status == EXIT_DONE && tables[table].is_of_waits &&
	    blame_require(weighed.profile, &err))
		status = fail_with(&err);
	if (status == EXIT_DONE) {
		pager_begin(&pager, !options->no_pager && !json);
		tables[table].print(weighed.selection, &how, &view, &pager.sink);
		status = pager_end(&pager);
	}
	weighed_close(&weighed);
	return status;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* profc report: tables and trees of where the time went. */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/sink.h"
#include "browse/browse.h"
#include "calltree/counts.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/find.h"
#include "calltree/flat.h"
#include "calltree/leaks.h"
#include "calltree/tree.h"
#include "calltree/weights.h"
#include "cmd/browser.h"
#include "cmd/command.h"
#include "cmd/filter_options.h"
#include "cmd/pager.h"
#include "cmd/profile_options.h"
#include "cmd/view_options.h"
#include "cmd/weighed.h"
#include "profile/profile.h"
#include "verdict/verdict.h"
#include "view/flat_fields.h"
#include "view/flat_text.h"
#include "view/leaks_text.h"
#include "view/summary.h"
#include "view/tree_counts.h"
#include "view/tree_json.h"
#include "view/tree_text.h"
#include "view/tree_walk.h"

#define LIMIT_DEFAULT	20
#define LIMIT_OF_GROUP	5
#define LIMIT_NOT_GIVEN UINT64_MAX
#define NOT_GIVEN	(-1)
/* Smaller nodes of a tree are not worth showing as text. */
#define MIN_PERCENT_DEFAULT 0.5

struct report_args {
	const char *input, *by, *sort, *columns, *callers, *callees;
	int metric;	       /* index of the choices below, or NOT_GIVEN */
	struct flat_keys keys; /* what `by` says */
	uint64_t limit, max_depth;
	double min_percent; /* or NOT_GIVEN */
	bool tree, counts, leaks, reachable, json, csv, no_inline;
	uint64_t min_age_ns;
	struct option_list source_paths;
	struct filter_options filter;
	struct view_options view;
};

#define AT(member) offsetof(struct report_args, member)

/* The exact counts in metric_names_and_calls: they are shown beside the time and are no metric. */
#define METRIC_CALLS METRIC_COUNT

static const struct option_row rows[] = {
	{.type = OPTION_SECTION, .name = "Output"},
	INPUT_OPTION_ROW(struct report_args, input),
	{.type = OPTION_CHOICE,
	 .short_name = 'm',
	 .name = "metric",
	 .argument = "METRIC",
	 .offset = AT(metric),
	 .choices = metric_names_and_calls,
	 .help = METRIC_HELP "; or calls, which sorts by them (default: cpu; wall with --by "
			     "state, blocked with --by syscall, lock and fd, alloc with --by "
			     "lifetime, live with --at)"},
	KEYS_OPTION_ROW(struct report_args, by),
	{.type = OPTION_UINT,
	 .short_name = 'n',
	 .name = "limit",
	 .argument = "N",
	 .offset = AT(limit),
	 .help = "rows to show, 0 for all (default: 20; 5 of each group with two keys of --by; all "
		 "with "
		 "--json and --csv)"},
	{.type = OPTION_STRING,
	 .name = "sort",
	 .argument = "KEY[,KEY]",
	 .offset = AT(sort),
	 .help = "self, total, samples, calls, per-call, name, function, line or module (default: "
		 "self)"},
	{.type = OPTION_STRING,
	 .name = "columns",
	 .argument = "NAME[,NAME]",
	 .offset = AT(columns),
	 .help = "columns that stay where the table is narrow, as user,system or location"},
	{.type = OPTION_FLAG,
	 .name = "tree",
	 .offset = AT(tree),
	 .help = "call tree, from the roots down"},
	{.type = OPTION_FLAG,
	 .name = "counts",
	 .offset = AT(counts),
	 .help = "with --tree: function, exact count and time, indented by depth"},
	{.type = OPTION_STRING,
	 .name = "callers",
	 .argument = "FUNC",
	 .offset = AT(callers),
	 .help = "tree of the callers of FUNC, a name or a regular expression"},
	{.type = OPTION_STRING,
	 .name = "callees",
	 .argument = "FUNC",
	 .offset = AT(callees),
	 .help = "tree of what FUNC calls, from all its callers"},
	{.type = OPTION_FLAG,
	 .name = "leaks",
	 .offset = AT(leaks),
	 .help = "memory that was not freed, by stack: how much, whose, since when, and its "
		 "growth"},
	{.type = OPTION_FLAG,
	 .name = "reachable",
	 .offset = AT(reachable),
	 .help = "with --leaks: which of it no pointer led to when it was searched, those first"},
	{.type = OPTION_DURATION,
	 .name = "min-age",
	 .argument = "TIME",
	 .offset = AT(min_age_ns),
	 .help = "with --leaks: omit blocks younger than TIME at the end"},
	{.type = OPTION_UINT,
	 .name = "max-depth",
	 .argument = "N",
	 .offset = AT(max_depth),
	 .help = "maximum depth of trees, or frames of leaks (default: unlimited)"},
	{.type = OPTION_DOUBLE,
	 .name = "min-percent",
	 .argument = "PCT",
	 .offset = AT(min_percent),
	 .max = 100,
	 .help = "in trees, omit nodes below this share of the total (default: 0.5; 0 with "
		 "--json)"},
	NO_INLINE_OPTION_ROW(struct report_args, no_inline),
	SOURCE_PATH_OPTION_ROW(struct report_args, source_paths,
			       "in the browser, look for sources recorded under OLD under NEW; "
			       "repeatable"),
	JSON_OPTION_ROW(struct report_args, json),
	{.type = OPTION_FLAG,
	 .name = "csv",
	 .offset = AT(csv),
	 .help = "comma-separated values (RFC 4180)"},
	FILTER_OPTION_ROWS(struct report_args, filter),
	VIEW_OPTION_ROWS(struct report_args, view),
	UNIT_OPTION_ROW(struct report_args, view),
	OPTIONS_END,
};

static bool has_key(const struct report_args *args, enum dimension dimension)
{
	return args->keys.first == dimension || args->keys.second == dimension;
}

/* Is this dimension the only key? */
static bool is_by(const struct report_args *args, enum dimension dimension)
{
	return args->keys.first == dimension && args->keys.second == dimension;
}

static enum metric metric_of(const struct report_args *args)
{
	enum metric metric;

	if (args->metric != NOT_GIVEN && args->metric != METRIC_CALLS)
		return (enum metric)args->metric;
	if (args->leaks)
		return METRIC_ALLOC;
	if (args->filter.at && args->metric == NOT_GIVEN)
		return METRIC_LIVE;
	/* Calls are counted beside a metric of time. */
	metric = flat_keys_metric(&args->keys);
	return args->metric == METRIC_CALLS && metric_is_memory(metric) ? METRIC_CPU : metric;
}

static int check_memory(const struct report_args *args, struct err *err)
{
	int status = flat_keys_check(&args->keys, metric_of(args), err);

	if (status)
		return status;
	if (args->counts && metric_is_memory(metric_of(args)))
		return err_set(err, ERR_INVALID, "--counts cannot be combined with memory");
	return 0;
}

static int check_leaks(const struct report_args *args, struct err *err)
{
	bool is_table = args->by && !is_by(args, BY_PROCESS) && !is_by(args, BY_PID) &&
			!is_by(args, BY_THREAD);

	if (args->tree || args->callers || args->callees || args->csv || args->sort || is_table ||
	    args->metric != NOT_GIVEN)
		return err_set(err, ERR_INVALID,
			       "--leaks cannot be combined with another table, tree or metric");
	return 0;
}

/* Reject options that cannot be combined. */
static int check_combination(const struct report_args *args, struct err *err)
{
	int nr_trees = args->tree + (args->callers != NULL) + (args->callees != NULL);

	if (source_paths_check(&args->source_paths, err))
		return err->code;
	if (args->json && args->csv)
		return err_set(err, ERR_INVALID, "--json cannot be combined with --csv");
	if (nr_trees > 1)
		return err_set(err, ERR_INVALID,
			       "--tree, --callers and --callees cannot be combined");
	if (nr_trees && (args->by || args->sort || args->csv || args->columns))
		return err_set(err, ERR_INVALID, "--%s cannot be combined with a tree",
			       args->csv       ? "csv"
			       : args->columns ? "columns"
			       : args->sort    ? "sort"
					       : "by");
	if (args->columns && flat_check_columns(args->columns, err))
		return err->code;
	if ((args->min_age_ns || args->reachable) && !args->leaks)
		return err_set(err, ERR_INVALID, "--%s needs --leaks",
			       args->reachable ? "reachable" : "min-age");
	if (args->counts && !args->tree)
		return err_set(err, ERR_INVALID, "--counts needs --tree");
	return args->leaks ? check_leaks(args, err) : check_memory(args, err);
}

static int parse(struct report_args *args, int argc, char **argv, struct filter *filter,
		 struct err *err)
{
	int first_word;
	int status = options_parse(rows, args, argc, argv, false, &first_word, err);

	if (!status)
		status = profile_options_word(&args->input, argc, argv, first_word, err);
	if (status)
		return status;
	if (args->by)
		status = flat_keys_parse(args->by, &args->keys, err);
	if (status == 0)
		status = check_combination(args, err);
	if (status)
		return status;
	return filter_options_apply(&args->filter, filter, err);
}

/* Does it print the tree that is made of counts? */
static bool is_tree_of_counts(const struct report_args *args)
{
	return args->counts || (args->tree && args->metric == METRIC_CALLS);
}

/* Callers and callees have a column of them where there are any, the tree when it is asked for. */
static bool shows_calls(const struct report_args *args, const struct weights *weights)
{
	return weights->counts->state == COUNTS_KNOWN && !args->tree;
}

static struct tree_limits limits_of(const struct report_args *args, const struct weights *weights)
{
	double standard = args->json ? 0 : MIN_PERCENT_DEFAULT;

	return (struct tree_limits){
		.max_depth = args->max_depth,
		.min_percent = args->min_percent < 0 ? standard : args->min_percent,
		.calls = shows_calls(args, weights),
	};
}

static size_t limit_of(const struct report_args *args)
{
	if (args->limit != LIMIT_NOT_GIVEN)
		return args->limit;
	if (args->json || args->csv)
		return 0;
	return args->keys.first == args->keys.second ? LIMIT_DEFAULT : LIMIT_OF_GROUP;
}

/*
 * Print the verdict above a plain report. A user who asks for another table, or a part, has seen
 * it.
 */
static void print_verdict(const struct report_args *args, const struct flat *flat,
			  const struct view *view, struct sink *sink)
{
	const struct weights *weights = flat->weights;
	struct verdict *verdict;

	if (!weights->selection->everything || weights->selection->reshaped || args->by ||
	    args->metric != NOT_GIVEN || args->sort)
		return;
	verdict = weights->metric == METRIC_CPU ? verdict_of_weights(weights, flat)
						: verdict_new(weights->selection);
	verdict_print_head(verdict, view, args->input, sink);
	sink_str(sink, "\n");
	verdict_free(verdict);
}

/* Print a table or a tree, the other being NULL, between its heading and notes. */
static int print_text(const struct report_args *args, const struct flat *flat,
		      const struct tree *tree)
{
	struct view view = view_options_resolve(&args->view);
	const struct weights *weights;
	struct tree_limits limits;
	struct pager pager;

	view.kept_columns = args->columns;
	assert(flat || tree);
	weights = flat ? flat->weights : tree->weights;
	limits = limits_of(args, weights);
	pager_begin(&pager, !args->view.no_pager);
	if (flat)
		print_verdict(args, flat, &view, &pager.sink);
	summary_print_heading(weights, &view, &pager.sink);
	sink_str(&pager.sink, "\n");
	if (flat) {
		flat_print_text(flat, &view, limit_of(args), &pager.sink);
		flat_print_notes(flat, &view, &pager.sink);
		if (!metric_is_memory(weights->metric))
			verdict_print_notes(weights->selection, args->keys.first, &view,
					    &pager.sink);
	} else if (is_tree_of_counts(args)) {
		tree_print_counts(tree, &view, &limits, &pager.sink);
	} else {
		tree_print_text(tree, &view, &limits, &pager.sink);
	}
	summary_print_notes(weights, &view, &pager.sink);
	return pager_end(&pager);
}

static int print_flat(const struct report_args *args, const struct flat *flat)
{
	struct sink sink;

	if (!args->json && !args->csv)
		return print_text(args, flat, NULL);
	sink_init_fd(&sink, STDOUT_FILENO);
	if (args->json)
		flat_print_json(flat, limit_of(args), &sink);
	else
		flat_print_csv(flat, limit_of(args), &sink);
	return flush_stdout(&sink);
}

static int report_flat(const struct command *self, const struct report_args *args,
		       const struct weights *weights)
{
	const struct flat_request request = {
		.keys = args->keys,
		.sort = args->metric == METRIC_CALLS && !args->sort ? "calls" : args->sort,
		.limit = limit_of(args),
	};
	struct err err = ERR_INIT;
	struct flat *flat;
	int status;

	if (flat_new_as(weights, &request, &flat, &err))
		return fail_or_usage_error(self, &err);
	status = print_flat(args, flat);
	flat_free(flat);
	return status;
}

static int print_tree(const struct report_args *args, const struct tree *tree)
{
	const struct tree_limits limits = limits_of(args, tree->weights);
	struct sink sink;

	if (!args->json)
		return print_text(args, NULL, tree);
	sink_init_fd(&sink, STDOUT_FILENO);
	tree_print_json(tree, &limits, &sink);
	return flush_stdout(&sink);
}

/* The function exists, but has no samples that pass the filter; or nothing has, without counts. */
static int empty_tree(const char *function)
{
	struct err err = ERR_INIT;

	if (function)
		err_set(&err, ERR_EMPTY, "no samples in '%s'", function);
	else
		err_set(&err, ERR_EMPTY, "no samples, but exact counts: see --tree --counts");
	return fail_with(&err);
}

static bool is_anything_shown(const struct report_args *args, const struct tree *tree)
{
	const struct tree_node *root = &tree->nodes[TREE_ROOT];

	if (args->tree && !is_tree_of_counts(args) && !args->json)
		return root->total.weight > 0;
	return root->first_child != 0;
}

static int report_tree(const struct report_args *args, const struct weights *weights)
{
	const char *function = args->callers ? args->callers : args->callees;
	struct err err = ERR_INIT;
	bool *wanted = NULL;
	struct tree *tree;
	int status;

	if ((args->counts || args->metric == METRIC_CALLS) && counts_require(weights->counts, &err))
		return fail_with(&err);
	if (function && find_labels(weights->selection->expansion, function, &wanted, &err)) {
		if (!err.hint[0])
			err_hint(&err, "'profc report -n 0' lists the functions");
		return fail_with(&err);
	}
	tree = tree_new_as(weights, &(struct tree_request){
					    .callers_of = args->callers ? wanted : NULL,
					    .callees_of = args->callees ? wanted : NULL,
					    .is_folded = !args->json,
					    .has_faults = true,
				    });
	if (is_anything_shown(args, tree))
		status = print_tree(args, tree);
	else
		status = empty_tree(function);
	tree_free(tree);
	free(wanted);
	return status;
}

static int report_leaks(const struct report_args *args, const struct selection *selection)
{
	const struct leaks_request request = {.by = is_by(args, BY_THREAD)    ? LEAKS_BY_THREAD
						    : is_by(args, BY_PROCESS) ? LEAKS_BY_PROGRAM
									      : LEAKS_BY_PROCESS,
					      .min_age_ns = args->min_age_ns,
					      .depth = args->max_depth};
	struct view view = view_options_resolve(&args->view);
	struct leaks *leaks = leaks_new(selection, &request);
	struct pager pager;

	pager_begin(&pager, !args->view.no_pager && !args->json);
	if (args->reachable)
		leaks_tell_lost(leaks);
	leaks_print(leaks, args->json ? NULL : &view, limit_of(args), &pager.sink);
	leaks_free(leaks);
	return pager_end(&pager);
}

/* What has no end that a user asked for is browsed, on a terminal. */
static bool is_for_browser(const struct report_args *args)
{
	bool is_text = args->json || args->csv || args->leaks || is_tree_of_counts(args) ||
		       args->keys.first != args->keys.second;

	return !is_text && !args->view.no_pager && args->limit == LIMIT_NOT_GIVEN &&
	       browser_is_possible();
}

static int report_text(const struct command *self, const struct report_args *args,
		       const struct weighed *weighed)
{
	if (args->leaks)
		return report_leaks(args, weighed->selection);
	if (args->tree || args->callers || args->callees)
		return report_tree(args, weighed->weights);
	return report_flat(self, args, weighed->weights);
}

/* An order that is not known is a mistake here, too; of a table that has no rows it costs nothing.
 */
static int check_sort(const struct report_args *args, const struct weights *weights,
		      struct err *err)
{
	struct flat none = {
		.weights = weights, .dimension = args->keys.first, .second = args->keys.second};

	return args->sort ? flat_sort(&none, args->sort, err) : 0;
}

/* The one function that --callers or --callees means; else FLAT_NONE. */
static uint32_t find_one(const char *function, const struct weights *weights)
{
	const struct expansion *expansion = weights->selection->expansion;
	cleanup_free bool *wanted = NULL;
	uint32_t found = FLAT_NONE;

	if (find_labels(expansion, function, &wanted, NULL))
		return FLAT_NONE;
	for (uint32_t i = 0; i < expansion->nr_labels; i++) {
		if (wanted[i] && found != FLAT_NONE)
			return FLAT_NONE;
		found = wanted[i] ? i : found;
	}
	return found;
}

static int browse(const struct command *self, const struct report_args *args,
		  const struct filter *filter, const struct weighed *weighed)
{
	const char *standard = args->metric == METRIC_CALLS ? "calls" : "self";
	const struct browse_options options = {
		.wishes = {.metric = weighed->weights->metric,
			   .metrics = browse_metrics_of(weighed->profile),
			   .has_marks = weighed->profile->nr_marks > 0,
			   .by = args->keys.first,
			   .sort = args->sort ? args->sort : standard},
		.filter = filter,
		.sources = {.texts = args->source_paths.values, .nr = args->source_paths.nr},
		.with_tree = args->tree,
		.fold_inlines = args->no_inline,
		.max_depth = args->max_depth,
		.min_percent = args->min_percent < 0 ? MIN_PERCENT_DEFAULT : args->min_percent};
	const struct browse_input input = {.profile = weighed->profile,
					   .weights = weighed->weights};
	const char *function = args->callers ? args->callers : args->callees;
	uint32_t label = function ? find_one(function, weighed->weights) : FLAT_NONE;
	struct err err = ERR_INIT;
	struct browse *browse;
	int status;

	/* A tree of several is for reading. */
	if (function && label == FLAT_NONE)
		return report_text(self, args, weighed);
	if (check_sort(args, weighed->weights, &err))
		return fail_or_usage_error(self, &err);
	browse = browse_new(&options);
	status = browse_show(browse, &input, &err);
	if (function && status == 0)
		browse_open_function(browse, label);
	if (status == 0)
		status = browser_run(browse, &args->view, &err);
	browse_free(browse);
	if (status == 0)
		return EXIT_DONE;
	print_note("%s: plain text instead", err.what);
	return report_text(self, args, weighed);
}

static int report(const struct command *self, const struct report_args *args,
		  const struct filter *filter)
{
	const struct weigh_request request = {.input = args->input,
					      .filter = filter,
					      .metric = metric_of(args),
					      .fold_inlines = args->no_inline,
					      .of_leaks = args->leaks,
					      .or_counts = is_by(args, BY_FUNCTION),
					      .or_cpu = args->metric == NOT_GIVEN &&
							has_key(args, BY_SYSCALL)};
	struct weighed weighed;
	struct err err = ERR_INIT;
	int status = weighed_open(&weighed, self, &request);

	if (status == EXIT_DONE && flat_keys_find(&args->keys, weighed.profile, &err))
		status = fail_with(&err);
	if (status == EXIT_DONE)
		status = is_for_browser(args) ? browse(self, args, filter, &weighed)
					      : report_text(self, args, &weighed);
	weighed_close(&weighed);
	return status;
}

static int run_report(const struct command *self, int argc, char **argv)
{
	struct report_args args = {.metric = NOT_GIVEN,
				   .limit = LIMIT_NOT_GIVEN,
				   .min_percent = NOT_GIVEN,
				   .view = VIEW_OPTIONS_INIT};
	struct filter filter;
	struct err err = ERR_INIT;
	int status;

	if (parse(&args, argc, argv, &filter, &err))
		status = usage_error(self, &err);
	else
		status = report(self, &args, &filter);
	options_release(rows, &args);
	return status;
}

const struct command command_report = {
	.name = "report",
	.synopsis = "[-i FILE] [OPTIONS]",
	.summary = "show where the time went",
	.help = "Shows the functions that used most time: time in the function itself (self),\n"
		"with the half-width of its 95% confidence interval in percentage points, and\n"
		"time including what it called (total).\n"
		"\n"
		"Examples:\n"
		"  profc report\n"
		"  profc report --by line --function '^parse'\n"
		"  profc report --tree --min-percent 2\n"
		"  profc report --callers malloc\n"
		"  profc report --metric blocked --by syscall\n"
		"  profc report --by process,function --hide '^std::'\n"
		"  profc report --by lock\n"
		"  profc report --tree --counts --unit us\n"
		"  profc report --leaks --min-age 1s\n",
	.options = rows,
	.run = run_report,
};

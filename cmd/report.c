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
#include "cmd/report_spans.h"
#include "cmd/report_table.h"
#include "cmd/trigger_hint.h"
#include "cmd/view_options.h"
#include "cmd/weighed.h"
#include "profile/fold_scripts.h"
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
	bool tree, counts, leaks, spans, wakers, chain, reachable, json, csv, no_inline;
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
			     "state, blocked with --by syscall, lock and fd, elapsed with --by "
			     "parallelism, alloc with --by "
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
	 .name = "spans",
	 .offset = AT(spans),
	 .help = "how long the calls took that record --spans has timed"},
	{.type = OPTION_FLAG,
	 .name = "wakers",
	 .offset = AT(wakers),
	 .help = "blocked time by what it waited for, and by what ended that"},
	{.type = OPTION_FLAG,
	 .name = "chain",
	 .offset = AT(chain),
	 .help = "what the end of the program, or of calls of --slow, had to wait for"},
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
	if (args->filter.parallelism && args->metric == NOT_GIVEN)
		return METRIC_ELAPSED;
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
	if (args->spans && (nr_trees || args->leaks || args->by || args->csv || args->sort ||
			    args->columns || args->metric != NOT_GIVEN))
		return err_set(err, ERR_INVALID,
			       "--spans can be combined with -i, --json and --unit only");
	if ((args->wakers || args->chain) &&
	    (nr_trees || args->leaks || args->spans || args->by || args->csv || args->sort ||
	     args->columns || (args->wakers && args->chain) ||
	     (args->metric != NOT_GIVEN &&
	      args->metric != (args->chain ? METRIC_ELAPSED : METRIC_BLOCKED))))
		return err_set(err, ERR_INVALID,
			       "--%s cannot be combined with another table, tree or metric",
			       args->chain ? "chain" : "wakers");
	if (args->counts && !args->tree)
		return err_set(err, ERR_INVALID, "--counts needs --tree");
	return args->leaks ? check_leaks(args, err) : check_memory(args, err);
}

enum report_kind {
	REPORT_FLAT,
	REPORT_TREE,
	REPORT_TREE_OF_COUNTS,
	REPORT_LEAKS,
};

/* The report that the arguments ask for. */
struct report_request {
	enum report_kind kind;
	struct filter filter;
	struct weigh_request weigh; /* borrows the filter */
	struct flat_keys keys;
	const char *sort;     /* as the user wants it, or NULL */
	bool by_calls;	      /* sorted by them, unless `sort` says otherwise */
	bool is_plain;	      /* nothing but the standard table is asked for */
	const char *function; /* of which the tree shows the callers or callees; NULL: whole */
	bool of_callers;
	bool is_folded;		   /* recursion is, in a tree */
	struct tree_limits limits; /* `calls`: where any are known */
	struct leaks_request leaks;
	bool tells_lost; /* with leaks */
	uint64_t limit;	 /* of rows; 0: all */
};

/* How it comes out. */
struct report_form {
	bool json, csv;
	bool may_browse; /* a table or tree without an end that the user set */
	const char *columns;
	const struct view_options *view;
	struct source_maps sources; /* of the browser */
};

static enum report_kind kind_of(const struct report_args *args)
{
	if (args->leaks)
		return REPORT_LEAKS;
	if (args->counts || (args->tree && args->metric == METRIC_CALLS))
		return REPORT_TREE_OF_COUNTS;
	return args->tree || args->callers || args->callees ? REPORT_TREE : REPORT_FLAT;
}

static uint64_t limit_of(const struct report_args *args)
{
	if (args->limit != LIMIT_NOT_GIVEN)
		return args->limit;
	if (args->json || args->csv)
		return 0;
	return args->keys.first == args->keys.second ? LIMIT_DEFAULT : LIMIT_OF_GROUP;
}

static double min_percent_of(const struct report_args *args)
{
	if (args->min_percent >= 0)
		return args->min_percent;
	return args->json ? 0 : MIN_PERCENT_DEFAULT;
}

static int make_request(const struct report_args *args, struct report_request *request,
			struct err *err)
{
	*request = (struct report_request){
		.kind = kind_of(args),
		.weigh = {.input = args->input,
			  .filter = &request->filter,
			  .metric = metric_of(args),
			  .fold_inlines = args->no_inline,
			  .with_kernel = args->filter.kernel,
			  .with_native = args->filter.native,
			  .of_leaks = args->leaks,
			  .or_counts = is_by(args, BY_FUNCTION),
			  .or_cpu = args->metric == NOT_GIVEN && has_key(args, BY_SYSCALL)},
		.keys = args->keys,
		.sort = args->sort,
		.by_calls = args->metric == METRIC_CALLS,
		.is_plain = !args->by && !args->sort && args->metric == NOT_GIVEN,
		.function = args->callers ? args->callers : args->callees,
		.of_callers = args->callers,
		.is_folded = !args->json,
		/* The whole tree has a column of calls only if it is made of them. */
		.limits = {.max_depth = args->max_depth,
			   .min_percent = min_percent_of(args),
			   .calls = !args->tree},
		.leaks = {.by = is_by(args, BY_THREAD)	  ? LEAKS_BY_THREAD
				: is_by(args, BY_PROCESS) ? LEAKS_BY_PROGRAM
							  : LEAKS_BY_PROCESS,
			  .min_age_ns = args->min_age_ns,
			  .depth = args->max_depth},
		.tells_lost = args->reachable,
		.limit = limit_of(args),
	};
	return filter_options_apply(&args->filter, &request->filter, err);
}

static struct report_form form_of(const struct report_args *args)
{
	enum report_kind kind = kind_of(args);
	bool is_text = args->json || args->csv || args->view.no_pager || kind == REPORT_LEAKS ||
		       kind == REPORT_TREE_OF_COUNTS || args->keys.first != args->keys.second;

	return (struct report_form){
		.json = args->json,
		.csv = args->csv,
		.may_browse = !is_text && args->limit == LIMIT_NOT_GIVEN,
		.columns = args->columns,
		.view = &args->view,
		.sources = {.texts = args->source_paths.values, .nr = args->source_paths.nr},
	};
}

static int parse(struct report_args *args, int argc, char **argv, struct err *err)
{
	int first_word;
	int status = options_parse(rows, args, argc, argv, false, &first_word, err);

	if (!status)
		status = profile_options_word(&args->input, argc, argv, first_word, err);
	if (status == 0 && args->by)
		status = flat_keys_parse(args->by, &args->keys, err);
	return status ? status : check_combination(args, err);
}

static struct view view_of(const struct report_form *form)
{
	struct view view = view_options_resolve(form->view);

	view.kept_columns = form->columns;
	return view;
}

/* Print the verdict above the standard table. A user who asks for another table has seen it. */
static void print_verdict(const struct flat *flat, const char *input, const struct view *view,
			  struct sink *sink)
{
	const struct weights *weights = flat->weights;
	struct verdict *verdict = weights->metric == METRIC_CPU ? verdict_of_weights(weights, flat)
								: verdict_new(weights->selection);

	verdict_print_head(verdict, view, input, sink);
	sink_str(sink, "\n");
	verdict_free(verdict);
}

static bool is_of_all(const struct selection *selection)
{
	return selection->everything && !selection->reshaped;
}

static int print_flat_text(const struct report_request *request, const struct flat *flat,
			   const struct report_form *form)
{
	const struct weights *weights = flat->weights;
	struct view view = view_of(form);
	struct pager pager;

	view.of_scripts = request->keys.first == BY_SCRIPT;
	pager_begin(&pager, !form->view->no_pager);
	if (request->is_plain && is_of_all(weights->selection))
		print_verdict(flat, request->weigh.input, &view, &pager.sink);
	summary_print_heading(weights, &view, &pager.sink);
	sink_str(&pager.sink, "\n");
	flat_print_text(flat, &view, request->limit, &pager.sink);
	flat_print_notes(flat, &view, &pager.sink);
	if (!metric_is_memory(weights->metric))
		verdict_print_notes(weights->selection, request->keys.first, &view, &pager.sink);
	summary_print_notes(weights, &view, &pager.sink);
	return pager_end(&pager);
}

static int print_tree_text(const struct tree *tree, enum report_kind kind,
			   const struct tree_limits *limits, const struct report_form *form)
{
	const struct view view = view_of(form);
	struct pager pager;

	pager_begin(&pager, !form->view->no_pager);
	summary_print_heading(tree->weights, &view, &pager.sink);
	sink_str(&pager.sink, "\n");
	if (kind == REPORT_TREE_OF_COUNTS)
		tree_print_counts(tree, &view, limits, &pager.sink);
	else
		tree_print_text(tree, &view, limits, &pager.sink);
	summary_print_notes(tree->weights, &view, &pager.sink);
	return pager_end(&pager);
}

static int print_flat(const struct report_request *request, const struct flat *flat,
		      const struct report_form *form)
{
	struct sink sink;

	if (!form->json && !form->csv)
		return print_flat_text(request, flat, form);
	sink_init_fd(&sink, STDOUT_FILENO);
	if (form->json)
		flat_print_json(flat, request->limit, &sink);
	else
		flat_print_csv(flat, request->limit, &sink);
	return flush_stdout(&sink);
}

static const char *sort_of(const struct report_request *request)
{
	return request->by_calls && !request->sort ? "calls" : request->sort;
}

static int report_flat(const struct command *self, const struct report_request *request,
		       const struct weights *weights, const struct report_form *form)
{
	const struct flat_request table = {
		.keys = request->keys, .sort = sort_of(request), .limit = request->limit};
	struct err err = ERR_INIT;
	struct flat *flat;
	int status;

	if (flat_new_as(weights, &table, &flat, &err))
		return fail_or_usage_error(self, &err);
	status = print_flat(request, flat, form);
	flat_free(flat);
	return status;
}

static int print_tree_json(const struct tree *tree, const struct tree_limits *limits)
{
	struct sink sink;

	sink_init_fd(&sink, STDOUT_FILENO);
	tree_print_json(tree, limits, &sink);
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

static bool is_anything_shown(const struct report_request *request, const struct tree *tree,
			      bool json)
{
	const struct tree_node *root = &tree->nodes[TREE_ROOT];

	if (request->kind == REPORT_TREE && !request->function && !json)
		return root->total.weight > 0;
	return root->first_child != 0;
}

static int report_tree(const struct report_request *request, const struct weights *weights,
		       const struct report_form *form)
{
	struct tree_limits limits = request->limits;
	struct err err = ERR_INIT;
	bool *wanted = NULL;
	struct tree *tree;
	int status;

	if ((request->kind == REPORT_TREE_OF_COUNTS || request->by_calls) &&
	    counts_require(weights->counts, &err))
		return fail_with(&err);
	if (request->function &&
	    find_labels(weights->selection->expansion, request->function, &wanted, &err)) {
		if (!err.hint[0])
			err_hint(&err, "'profc report -n 0' lists the functions");
		return fail_with(&err);
	}
	limits.calls = limits.calls && weights->counts->state == COUNTS_KNOWN;
	tree = tree_new_as(weights, &(struct tree_request){
					    .callers_of = request->of_callers ? wanted : NULL,
					    .callees_of = request->of_callers ? NULL : wanted,
					    .is_folded = request->is_folded,
					    .has_faults = true,
				    });
	if (!is_anything_shown(request, tree, form->json))
		status = empty_tree(request->function);
	else if (form->json)
		status = print_tree_json(tree, &limits);
	else
		status = print_tree_text(tree, request->kind, &limits, form);
	tree_free(tree);
	free(wanted);
	return status;
}

static int report_leaks(const struct report_request *request, const struct selection *selection,
			const struct report_form *form)
{
	const struct view view = view_of(form);
	struct leaks *leaks = leaks_new(selection, &request->leaks);
	struct pager pager;

	pager_begin(&pager, !form->view->no_pager && !form->json);
	if (request->tells_lost)
		leaks_tell_lost(leaks);
	if (form->json)
		leaks_print_json(leaks, request->limit, &pager.sink);
	else
		leaks_print_text(leaks, &view, request->limit, &pager.sink);
	leaks_free(leaks);
	return pager_end(&pager);
}

static int report_text(const struct command *self, const struct report_request *request,
		       const struct weighed *weighed, const struct report_form *form)
{
	switch (request->kind) {
	case REPORT_LEAKS:
		return report_leaks(request, weighed->selection, form);
	case REPORT_TREE:
	case REPORT_TREE_OF_COUNTS:
		return report_tree(request, weighed->weights, form);
	case REPORT_FLAT:
		break;
	}
	return report_flat(self, request, weighed->weights, form);
}

/* An order that is not known is a mistake here, too; of a table that has no rows it costs nothing.
 */
static int check_sort(const char *sort, const struct flat_keys *keys, const struct weights *weights,
		      struct err *err)
{
	struct flat none = {.weights = weights, .dimension = keys->first, .second = keys->second};

	return sort ? flat_sort(&none, sort, err) : 0;
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

static int browse(const struct command *self, const struct report_request *request,
		  const struct weighed *weighed, const struct report_form *form)
{
	const char *sort = sort_of(request);
	const struct browse_options options = {
		.wishes = {.metric = weighed->weights->metric,
			   .metrics = browse_metrics_of(weighed->profile),
			   .has_marks = weighed->profile->nr_marks > 0,
			   .by = request->keys.first,
			   .sort = sort ? sort : "self"},
		.filter = &request->filter,
		.sources = form->sources,
		.with_tree = request->kind == REPORT_TREE && !request->function,
		.fold_inlines = request->weigh.fold_inlines,
		.max_depth = request->limits.max_depth,
		.min_percent = request->limits.min_percent};
	const struct browse_input input = {.profile = weighed->profile,
					   .weights = weighed->weights};
	uint32_t label =
		request->function ? find_one(request->function, weighed->weights) : FLAT_NONE;
	struct err err = ERR_INIT;
	struct browse *browse;
	int status;

	/* A tree of several is for reading. */
	if (request->function && label == FLAT_NONE)
		return report_text(self, request, weighed, form);
	if (check_sort(request->sort, &request->keys, weighed->weights, &err))
		return fail_or_usage_error(self, &err);
	browse = browse_new(&options);
	status = browse_show(browse, &input, &err);
	if (request->function && status == 0)
		browse_open_function(browse, label);
	if (status == 0)
		status = browser_run(browse, form->view, &err);
	browse_free(browse);
	if (status == 0)
		return EXIT_DONE;
	print_note("%s: plain text instead", err.what);
	return report_text(self, request, weighed, form);
}

/* Is it the first look at a profile? */
static bool is_plain_text(const struct report_request *request, const struct report_form *form)
{
	return request->kind == REPORT_FLAT && request->is_plain && !form->json && !form->csv;
}

static int report(const struct command *self, const struct report_request *request,
		  const struct report_form *form)
{
	struct weighed weighed;
	struct err err = ERR_INIT;
	int status = weighed_open(&weighed, self, &request->weigh);

	if (status == EXIT_DONE && flat_keys_find(&request->keys, weighed.profile, &err))
		status = fail_with(&err);
	if (status == EXIT_DONE && is_plain_text(request, form) && is_of_all(weighed.selection))
		trigger_hint_print(weighed.profile, request->weigh.input);
	if (status == EXIT_DONE)
		status = form->may_browse && browser_is_possible()
				 ? browse(self, request, &weighed, form)
				 : report_text(self, request, &weighed, form);
	weighed_close(&weighed);
	return status;
}

/* With another table, a tree or a metric --slow is a filter like others. */
static bool compares_slow(const struct report_args *args)
{
	return args->filter.slow && kind_of(args) == REPORT_FLAT && !args->spans && !args->wakers &&
	       !args->chain && !args->by && !args->sort && !args->columns && !args->csv &&
	       args->metric == NOT_GIVEN;
}

static int run_report(const struct command *self, int argc, char **argv)
{
	struct report_args args = {.metric = NOT_GIVEN,
				   .limit = LIMIT_NOT_GIVEN,
				   .min_percent = NOT_GIVEN,
				   .view = VIEW_OPTIONS_INIT};
	struct report_request request;
	struct err err = ERR_INIT;
	int status;

	if (parse(&args, argc, argv, &err) || make_request(&args, &request, &err)) {
		status = usage_error(self, &err);
	} else if (compares_slow(&args)) {
		status = report_table(self, args.input, &args.filter, &args.view, REPORT_SLOW,
				      args.limit == LIMIT_NOT_GIVEN ? LIMIT_OF_GROUP : args.limit,
				      args.json);
	} else if (args.spans) {
		status = report_spans(args.input, &args.view, args.json);
	} else if (args.wakers || args.chain) {
		status = report_table(self, args.input, &args.filter, &args.view,
				      args.wakers ? REPORT_WAKERS : REPORT_CHAIN, limit_of(&args),
				      args.json);
	} else {
		const struct report_form form = form_of(&args);

		status = report(self, &request, &form);
	}
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

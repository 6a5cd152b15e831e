// SPDX-License-Identifier: GPL-2.0-or-later
/* profc diff: what changed between two profiles, or between several runs and several others. */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/output_file.h"
#include "base/sink.h"
#include "calltree/diff.h"
#include "calltree/diff_limits.h"
#include "calltree/diff_tree.h"
#include "calltree/weights.h"
#include "cmd/command.h"
#include "cmd/filter_options.h"
#include "cmd/pager.h"
#include "cmd/profile_options.h"
#include "cmd/view_options.h"
#include "cmd/weighed.h"
#include "export/export.h"
#include "view/diff_markdown.h"
#include "view/diff_text.h"
#include "view/diff_tree_text.h"

#define LIMIT_DEFAULT	20
#define LIMIT_NOT_GIVEN UINT64_MAX

enum compare_choice {
	COMPARE_AUTO,
	COMPARE_AMOUNTS,
	COMPARE_SHARES,
	COMPARE_RATES,
};

struct diff_args {
	int metric, compare; /* indexes of the choices below */
	uint64_t limit;
	const char *fail_above;
	struct diff_limits_list fail_limits; /* what it says */
	bool all, json, html, markdown, no_inline, tree;
	bool are_spans; /* of one profile, by two ranges of time */
	bool are_calls; /* of one profile, slow calls and others */
	const char *output, *by;
	struct flat_keys keys; /* what `by` says: one */
	struct option_list renames;
	struct filter_options filter;
	struct view_options view;
};

/* In the order of their enums. */
static const char *const compare_choices[] = {"auto", "amounts", "shares", "rates", NULL};

#define AT(member) offsetof(struct diff_args, member)

static const struct option_row rows[] = {
	{.type = OPTION_SECTION, .name = "Comparison"},
	METRIC_OPTION_ROW(struct diff_args, metric, METRIC_HELP " (default: cpu)"),
	{.type = OPTION_CHOICE,
	 .name = "compare",
	 .argument = "WHAT",
	 .offset = AT(compare),
	 .choices = compare_choices,
	 .help = "amounts: absolute times, for two runs of the same work; shares: percentages of "
		 "the total, for samples of a long-running process; rates: percentages of the time "
		 "that was recorded, for looks of different length (default: amounts; shares if "
		 "either profile was attached; rates of two times of one profile)"},
	{.type = OPTION_STRING,
	 .name = "by",
	 .argument = "WHAT",
	 .offset = AT(by),
	 .help = "one row per function, line, file, module, thread (all of one name), process, "
		 "state, syscall, label:KEY, lifetime or mark (default: function)"},
	{.type = OPTION_FLAG,
	 .name = "tree",
	 .offset = AT(tree),
	 .help = "call tree, from the roots down: where functions changed"},
	{.type = OPTION_LIST,
	 .name = "map",
	 .argument = "OLD=NEW",
	 .offset = AT(renames),
	 .help = "the program, library, function or source file OLD is now named NEW; repeatable"},
	{.type = OPTION_STRING,
	 .name = "fail-above",
	 .argument = "LIMIT[,LIMIT]",
	 .offset = AT(fail_above),
	 .help = "exit with status 3 if the total grew surely by more than LIMIT percent, or a "
		 "function by as much of the old total; or METRIC=LIMIT, or calls=LIMIT of each "
		 "function counted: calls=0.1%,alloc=1%,cpu=5%"},
	{.type = OPTION_FLAG,
	 .name = "all",
	 .offset = AT(all),
	 .help = "show changes within noise, too"},
	{.type = OPTION_UINT,
	 .short_name = 'n',
	 .name = "limit",
	 .argument = "N",
	 .offset = AT(limit),
	 .help = "rows to show, 0 for all (default: 20; all with --json)"},
	NO_INLINE_OPTION_ROW(struct diff_args, no_inline),
	JSON_OPTION_ROW(struct diff_args, json),
	{.type = OPTION_FLAG,
	 .name = "html",
	 .offset = AT(html),
	 .help = "write a page for any browser with both profiles: see profc-export(1)"},
	{.type = OPTION_FLAG,
	 .name = "markdown",
	 .offset = AT(markdown),
	 .help = "write a comment for a pull request: see profc-ci(7)"},
	{.type = OPTION_FILE,
	 .short_name = 'o',
	 .name = "output",
	 .argument = "OUT",
	 .offset = AT(output),
	 .help = "with --html or --markdown, write to OUT; - is standard output (default)"},
	FILTER_OPTION_ROWS(struct diff_args, filter),
	VIEW_OPTION_ROWS(struct diff_args, view),
	UNIT_OPTION_ROW(struct diff_args, view),
	OPTIONS_END,
};

/* The profiles of both sides, and what becomes of them. */
struct comparison {
	size_t nr_old, nr; /* the old ones come first */
	struct weighed *runs;
	const struct weights **weights;
};

static bool are_rates(const struct diff_args *args)
{
	return args->compare == COMPARE_RATES ||
	       (args->compare == COMPARE_AUTO && args->are_spans &&
		metric_is_time((enum metric)args->metric));
}

static enum diff_mode mode_of(const struct diff_args *args, const struct comparison *comparison)
{
	bool attached = false;

	for (size_t i = 0; i < comparison->nr; i++)
		attached = attached || comparison->runs[i].profile->meta.attached;
	if (are_rates(args))
		return DIFF_RATES;
	if (args->compare == COMPARE_AUTO)
		return attached || args->are_spans || args->are_calls ? DIFF_SHARES : DIFF_AMOUNTS;
	return args->compare == COMPARE_SHARES ? DIFF_SHARES : DIFF_AMOUNTS;
}

static struct diff_limits limits_of(const struct diff_args *args)
{
	struct diff_limits limits = {.rows = args->limit, .unsure = args->all || args->json};

	if (args->limit == LIMIT_NOT_GIVEN)
		limits.rows = args->json ? 0 : LIMIT_DEFAULT;
	return limits;
}

static int print_diff(const struct diff_args *args, const struct diff *diff)
{
	const struct diff_limits limits = limits_of(args);
	struct view view = view_options_resolve(&args->view);
	struct diff_tree *tree = args->tree ? diff_tree_new(diff) : NULL;
	struct pager pager;

	pager_begin(&pager, !args->view.no_pager && !args->json);
	if (tree && args->json)
		diff_tree_print_json(tree, &limits, &pager.sink);
	else if (tree)
		diff_tree_print_text(tree, &view, &limits, &pager.sink);
	else if (args->json)
		diff_print_json(diff, &limits, &pager.sink);
	else
		diff_print_text(diff, &view, &limits, &pager.sink);
	diff_tree_free(tree);
	return pager_end(&pager);
}

/* A result for other programs. */
struct writing {
	int (*write)(void *context, struct sink *sink, struct err *err);
	void *context;
};

/* In the form in which the output comes there in whole or not at all. */
static int write_output(const struct diff_args *args, const struct writing *writing)
{
	bool to_stdout = !args->output || strcmp(args->output, "-") == 0;
	struct err err = ERR_INIT;
	struct output_file file = {0};
	struct sink sink;
	int status;

	if (!to_stdout && output_file_open(&file, args->output, &err))
		return fail_or_usage_error(&command_diff, &err);
	sink_init_fd(&sink, STDOUT_FILENO);
	status = writing->write(writing->context, to_stdout ? &sink : &file.sink, &err);
	if (status == 0 && to_stdout)
		return flush_stdout(&sink);
	sink_release(&sink);
	if (status && !to_stdout)
		output_file_discard(&file);
	else if (status == 0)
		status = output_file_finish(&file, &err);
	return status ? fail_or_usage_error(&command_diff, &err) : EXIT_DONE;
}

struct page {
	const struct export_diff *both;
	struct export_options options;
};

static int write_page(void *context, struct sink *sink, struct err *err)
{
	const struct page *page = context;

	return export_write_diff(page->both, &page->options, sink, err);
}

struct comment {
	const struct diff_args *args;
	const struct diff *diff;
	const char *exceeded;
};

static int write_comment(void *context, struct sink *sink, struct err *err)
{
	const struct comment *comment = context;
	const struct diff_limits limits = limits_of(comment->args);

	(void)err;
	diff_print_markdown(comment->diff, &limits, comment->exceeded, sink);
	return 0;
}

static void warn_about_renames(const struct diff_rename *renames, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!renames[i].used)
			print_warning("--map: nothing is named '%s' in the old profile",
				      renames[i].old_name);
}

/* Say which limits were exceeded, and append a line for each to `exceeded`. */
static int check_limits(const struct diff_args *args, const struct diff_request *request,
			struct buf *exceeded)
{
	int status = EXIT_DONE;

	for (size_t i = 0; i < args->fail_limits.nr; i++) {
		struct err err = ERR_INIT;
		struct buf why = {0};
		int found = diff_limit_exceeded(request, &args->fail_limits.at[i], &why, &err);

		if (found > 0) {
			print_note("%s", buf_str(&why));
			buf_printf(exceeded, "%s\n", buf_str(&why));
		}
		buf_release(&why);
		if (found < 0)
			return fail_with(&err);
		status = found ? EXIT_EXCEEDED : status;
	}
	return status;
}

static int compare(const struct diff_args *args, const struct filter *filter,
		   const struct comparison *comparison, struct diff_rename *renames)
{
	const struct diff_request request = {.old_runs = comparison->weights,
					     .nr_old = comparison->nr_old,
					     .new_runs = comparison->weights + comparison->nr_old,
					     .nr_new = comparison->nr - comparison->nr_old,
					     .mode = mode_of(args, comparison),
					     .by = args->keys.first,
					     .label = args->keys.label,
					     .renames = renames,
					     .nr_renames = args->renames.nr};
	/* A page is of one run on either side: check_output(). */
	const struct export_diff both = {.old_profile = comparison->runs[0].profile,
					 .new_profile =
						 comparison->runs[comparison->nr - 1].profile,
					 .mode = request.mode,
					 .renames = renames,
					 .nr_renames = args->renames.nr};
	struct page page = {.both = &both,
			    .options = {.metric = (enum metric)args->metric,
					.fold_inlines = args->no_inline,
					.filter = filter}};
	struct diff *diff = diff_new(&request);
	struct buf exceeded = {0};
	struct comment comment = {.args = args, .diff = diff};
	int status, of_limits;

	warn_about_renames(renames, args->renames.nr);
	/* A comment has them. */
	of_limits = args->markdown ? check_limits(args, &request, &exceeded) : EXIT_DONE;
	comment.exceeded = buf_str(&exceeded);
	if (args->html)
		status = write_output(args, &(struct writing){write_page, &page});
	else if (args->markdown)
		status = write_output(args, &(struct writing){write_comment, &comment});
	else
		status = print_diff(args, diff);
	if (status == EXIT_DONE && !args->markdown)
		of_limits = check_limits(args, &request, &exceeded);
	diff_free(diff);
	buf_release(&exceeded);
	return status == EXIT_DONE ? of_limits : status;
}

/* OLD=NEW each, as was checked. The texts belong to the one block that the caller frees. */
static struct diff_rename *split_renames(const struct option_list *list)
{
	size_t nr_bytes = list->nr * sizeof(struct diff_rename), at = nr_bytes;
	struct diff_rename *renames;

	for (size_t i = 0; i < list->nr; i++)
		nr_bytes += strlen(list->values[i]) + 1;
	renames = xcalloc(1, nr_bytes + 1);
	for (size_t i = 0; i < list->nr; i++) {
		char *text = strcpy((char *)renames + at, list->values[i]);
		char *equals = strchr(text, '=');

		at += strlen(text) + 1;
		*equals = '\0';
		renames[i] = (struct diff_rename){.old_name = text, .new_name = equals + 1};
	}
	return renames;
}

static int open_run(const struct command *self, const struct diff_args *args,
		    const struct filter *filter, const char *path, struct weighed *run)
{
	struct weigh_request request = {.input = path,
					.filter = filter,
					.metric = (enum metric)args->metric,
					.fold_inlines = args->no_inline,
					.with_kernel = args->filter.kernel,
					.with_native = args->filter.native,
					/* It may have slept all of one time. */
					.or_nothing = args->are_spans && are_rates(args),
					.or_counts = args->keys.first == BY_FUNCTION};
	struct err err = ERR_INIT;
	int status = weighed_open(run, self, &request);

	if (status != EXIT_DONE || !flat_keys_find(&args->keys, run->profile, &err))
		return status;
	err_prefix(&err, "%s", path);
	return fail_with(&err);
}

/* The profiles to be compared, the old ones first, and the samples of each side. */
struct sides {
	const char *const *paths; /* borrowed, as are the texts */
	size_t nr, nr_old;
	struct filter old_filter, new_filter;
};

static int open_all(const struct command *self, const struct diff_args *args,
		    const struct sides *sides)
{
	cleanup_free struct diff_rename *renames = split_renames(&args->renames);
	struct comparison comparison = {.nr_old = sides->nr_old};
	int status = EXIT_DONE;

	comparison.runs = xcalloc(sides->nr, sizeof(*comparison.runs));
	comparison.weights = xcalloc(sides->nr, sizeof(struct weights *));
	while (status == EXIT_DONE && comparison.nr < sides->nr) {
		struct weighed *run = &comparison.runs[comparison.nr];
		bool is_old = comparison.nr < sides->nr_old;

		status = open_run(self, args, is_old ? &sides->old_filter : &sides->new_filter,
				  sides->paths[comparison.nr], run);
		comparison.weights[comparison.nr++] = run->weights;
	}
	if (status == EXIT_DONE)
		status = compare(args, &sides->old_filter, &comparison, renames);
	for (size_t i = 0; i < comparison.nr; i++)
		weighed_close(&comparison.runs[i]);
	free(comparison.runs);
	free(comparison.weights);
	return status;
}

/* Two times, or kinds of calls, of one profile, or of the default one if none is named. */
static int open_one(const struct command *self, const struct diff_args *args,
		    const struct sides *sides)
{
	const char *path = profile_path_or_default(sides->nr ? sides->paths[0] : NULL);
	cleanup_free char *newest = newest_profile_in(path);
	const char *const paths[] = {newest ? newest : path, newest ? newest : path};
	struct sides both = *sides;

	both.paths = paths;
	both.nr = ARRAY_SIZE(paths);
	both.nr_old = 1;
	return open_all(self, args, &both);
}

/* Profiles and times, in the order of the command line. */
struct words {
	char **at;
	int nr, nr_behind; /* those after a "--", which divides old runs from new ones; -1: none */
};

static int find_dashes(int argc, char *const *argv)
{
	int i = 1;

	while (i < argc && strcmp(argv[i], "--") != 0)
		i++;
	return i;
}

/* The first option after the "--", where times may begin with a minus. */
static int find_late_option(int argc, char *const *argv, int dashes)
{
	int i = dashes + 1;

	while (i < argc && (argv[i][0] != '-' || !argv[i][1] || filter_options_is_range(argv[i])))
		i++;
	return i < argc ? i : argc;
}

/* Options may stand before the "--" and at the end. Takes the "--" out of argv. */
static int parse(struct diff_args *args, int argc, char **argv, struct words *words,
		 struct err *err)
{
	int dashes = find_dashes(argc, argv), late = find_late_option(argc, argv, dashes);
	int first, nr_late = argc - late, rest = nr_late + 1;
	int status = options_parse(rows, args, dashes, argv, false, &first, err);

	if (status == 0 && nr_late)
		status = options_parse(rows, args, nr_late + 1, argv + late - 1, false, &rest, err);
	if (status < 0)
		return status;
	if (rest <= nr_late) {
		err_set(err, ERR_INVALID, "unexpected argument '%s'", argv[late - 1 + rest]);
		err_hint(err, "new runs follow the -- at once, before further options");
		return ERR_INVALID;
	}
	words->nr_behind = dashes < argc ? late - dashes - 1 : -1;
	words->nr = dashes - first + (dashes < argc ? words->nr_behind : 0);
	words->at = argv + first;
	if (dashes < argc) {
		memmove(argv + first + 1, argv + first, (size_t)(dashes - first) * sizeof(*argv));
		words->at++;
	}
	return 0;
}

/* Two times of one profile: [FILE] --time A..B -- C..D. */
static bool are_spans(const struct words *words)
{
	return words->nr_behind == 1 && words->nr <= 2 &&
	       filter_options_is_range(words->at[words->nr - 1]);
}

/* Slow calls of one profile, and others before them: [FILE] --slow FUNC. */
static bool are_calls(const struct diff_args *args, const struct words *words)
{
	return args->filter.slow && words->nr_behind < 0 && words->nr <= 1;
}

/* The filters of both, for the one profile of that name. */
static int take_spans(const struct diff_args *args, const struct words *words, struct sides *sides,
		      struct err *err)
{
	const char *span = words->at[words->nr - 1];
	struct filter_options late = args->filter;

	if (!args->filter.time)
		return err_set(err, ERR_INVALID,
			       "'-- %s' needs --time A..B, which it is compared with", span);
	if (strcmp(words->at[0], "-") == 0)
		return err_set(err, ERR_INVALID,
			       "two times of a profile cannot be read from standard input");
	late.time = span;
	sides->nr = words->nr > 1;
	return filter_options_apply(&late, &sides->new_filter, err);
}

/* The number of old ones. */
static int check_words(const struct words *words, size_t *nr_old, struct err *err)
{
	const char *first_behind =
		words->nr_behind > 0 ? words->at[words->nr - words->nr_behind] : "";

	if (filter_options_is_range(first_behind)) {
		err_set(err, ERR_INVALID, "two times are of one profile, which is named before");
		err_hint(err, "for example: profc diff FILE --time -60s..-10s -- -10s..");
		return ERR_INVALID;
	}
	if (words->nr_behind > 0 && words->nr > words->nr_behind) {
		*nr_old = (size_t)(words->nr - words->nr_behind);
		return 0;
	}
	*nr_old = 1;
	if (words->nr == 2 && words->nr_behind != 0)
		return 0;
	err_set(err, ERR_INVALID, "two profiles are required, the old and the new one");
	err_hint(err, words->nr > 2 ? "several runs are compared so: profc diff OLD... -- NEW..."
				    : "for example: profc diff profc.data.old profc.data; or two "
				      "times of one: profc diff FILE --time -60s..-10s -- -10s..");
	return ERR_INVALID;
}

static int take_words(struct diff_args *args, const struct words *words, struct sides *sides,
		      struct err *err)
{
	int status = filter_options_apply(&args->filter, &sides->old_filter, err);

	if (status)
		return status;
	sides->new_filter = sides->old_filter;
	sides->paths = (const char *const *)words->at;
	sides->nr = (size_t)words->nr;
	args->are_spans = are_spans(words);
	if (args->are_spans)
		return take_spans(args, words, sides, err);
	args->are_calls = are_calls(args, words);
	if (args->are_calls && words->nr && strcmp(words->at[0], "-") == 0)
		return err_set(err, ERR_INVALID,
			       "--slow of one profile cannot be read from standard input");
	if (args->are_calls) {
		sides->old_filter.slow.which = FILTER_OTHER_CALLS;
		return 0;
	}
	return check_words(words, &sides->nr_old, err);
}

static int check_keys(struct diff_args *args, struct err *err)
{
	int status = args->by ? flat_keys_parse(args->by, &args->keys, err) : 0;

	if (status)
		return status;
	if (args->keys.first != args->keys.second)
		return err_set(err, ERR_INVALID, "diff has one key: --by %s",
			       dimension_names[args->keys.second]);
	if (args->keys.first == BY_PID) {
		err_set(err, ERR_INVALID, "processes of two recordings do not have the same IDs");
		err_hint(err, "--by process compares them by name");
		return ERR_INVALID;
	}
	if (args->fail_above &&
	    diff_limits_parse(args->fail_above, (enum metric)args->metric, &args->fail_limits, err))
		return err->code;
	if (args->tree && args->keys.first != BY_FUNCTION)
		return err_set(err, ERR_INVALID, "--by cannot be combined with a tree");
	return flat_keys_check(&args->keys, (enum metric)args->metric, err);
}

static int check_output(const struct diff_args *args, int nr_words, struct err *err)
{
	if (args->html + args->json + args->markdown > 1)
		return err_set(err, ERR_INVALID, "--%s cannot be combined with --%s",
			       args->html ? "html" : "markdown", args->json ? "json" : "markdown");
	if (args->markdown && args->tree)
		return err_set(err, ERR_INVALID, "--markdown cannot be combined with --tree");
	if (args->html && (args->tree || args->by))
		return err_set(err, ERR_INVALID, "--html cannot be combined with --%s",
			       args->tree ? "tree" : "by");
	if (args->html && (args->are_spans || args->are_calls))
		return err_set(err, ERR_INVALID, "--html is of two profiles, not of two %s",
			       args->are_spans ? "times" : "kinds of calls");
	if (args->html && nr_words > 2)
		return err_set(err, ERR_INVALID, "--html is of two profiles, not of several runs");
	if (args->output && !args->html && !args->markdown)
		return err_set(err, ERR_INVALID, "-o needs --html or --markdown");
	return 0;
}

static int check_rates(const struct diff_args *args, struct err *err)
{
	if (!are_rates(args))
		return 0;
	if (!metric_is_time((enum metric)args->metric))
		return err_set(err, ERR_INVALID,
			       "--compare rates is of times: cpu, wall, runq, blocked");
	if (args->fail_above || args->html)
		return err_set(err, ERR_INVALID, "--%s cannot be combined with rates",
			       args->html ? "html" : "fail-above");
	return 0;
}

static int check_renames(const struct option_list *renames, struct err *err)
{
	for (size_t i = 0; i < renames->nr; i++) {
		const char *equals = strchr(renames->values[i], '=');

		if (!equals || equals == renames->values[i] || !equals[1])
			return err_set(err, ERR_INVALID, "--map '%s' is not OLD=NEW",
				       renames->values[i]);
	}
	return 0;
}

static int run_diff(const struct command *self, int argc, char **argv)
{
	struct diff_args args = {.limit = LIMIT_NOT_GIVEN, .view = VIEW_OPTIONS_INIT};
	struct words words = {.nr_behind = -1};
	struct sides sides = {0};
	struct err err = ERR_INIT;
	int status;

	if (parse(&args, argc, argv, &words, &err) || take_words(&args, &words, &sides, &err) ||
	    check_keys(&args, &err) || check_output(&args, words.nr, &err) ||
	    check_rates(&args, &err) || check_renames(&args.renames, &err))
		status = usage_error(self, &err);
	else if (args.are_spans || args.are_calls)
		status = open_one(self, &args, &sides);
	else
		status = open_all(self, &args, &sides);
	options_release(rows, &args);
	return status;
}

const struct command command_diff = {
	.name = "diff",
	.synopsis = "[OPTIONS] OLD NEW | OLD... -- NEW... | FILE --time A..B -- C..",
	.summary = "show what changed between two profiles",
	.help = "Compares the self time of functions in two profiles, in percent of the old\n"
		"total, with the half-width of the 95% confidence interval of each change.\n"
		"Changes within their interval are noise and not shown; of those that are, one\n"
		"in twenty is false in the mean. Where both have exact counts, these and times\n"
		"per call are compared, too. Builds of one program are matched whatever the\n"
		"names of their files. With several runs on a side, intervals are those of what\n"
		"differs between them; three of each are a good measure. Two times of one\n"
		"profile are compared by what each had of a second; with --slow and one profile,\n"
		"slow calls with the others.\n"
		"\n"
		"Examples:\n"
		"  profc diff profc.data.old profc.data\n"
		"  profc diff --fail-above 5 main-?.data -- branch-?.data\n"
		"  profc diff --tree main-?.data -- branch-?.data\n"
		"  profc diff dumps/ --time -60s..-10s -- -10s..\n"
		"  profc diff --tree -m wall --slow 'handle_request>p99' profc.data\n",
	.options = rows,
	.run = run_diff,
};

// SPDX-License-Identifier: GPL-2.0-or-later
/* profc export: writes a profile for another viewer. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/output_file.h"
#include "base/sink.h"
#include "cmd/command.h"
#include "cmd/filter_options.h"
#include "cmd/profile_options.h"
#include "export/export.h"
#include "profile/profile.h"
#include "profile/spread.h"

#define NO_METRIC (-1)

struct export_args {
	const char *input, *output;
	bool formats[EXPORT_KIND_COUNT];
	int metric;		     /* NO_METRIC: none was chosen */
	int threads, weights, names; /* indexes of the choices below */
	bool no_inline, idle;
	struct filter_options filter;
};

/* In the order of their enums. */
static const char *const thread_choices[] = {"auto", "merge", "split", NULL};
static const char *const weight_choices[] = {"value", "samples", NULL};
static const char *const name_choices[] = {"auto", "full", "short", NULL};

#define AT(member) offsetof(struct export_args, member)
#define FORMAT_ROW(name_, kind, help_)                                                             \
	{                                                                                          \
		.type = OPTION_FLAG, .name = (name_), .offset = AT(formats[kind]), .help = (help_) \
	}
#define CHOICE_ROW(short_, name_, argument_, member, choices_, help_)                              \
	{                                                                                          \
		.type = OPTION_CHOICE, .short_name = (short_), .name = (name_),                    \
		.argument = (argument_), .offset = AT(member), .choices = (choices_),              \
		.help = (help_)                                                                    \
	}

static const struct option_row rows[] = {
	{.type = OPTION_SECTION, .name = "Formats (exactly one)"},
	FORMAT_ROW("speedscope", EXPORT_SPEEDSCOPE,
		   "JSON for speedscope.app: one profile per thread, in time order"),
	FORMAT_ROW("folded", EXPORT_FOLDED, "one line per stack, as read by flame graph scripts"),
	FORMAT_ROW("pprof", EXPORT_PPROF, "gzipped protobuf for pprof and compatible tools"),
	FORMAT_ROW("chrome", EXPORT_CHROME,
		   "trace events for Perfetto and chrome://tracing; try -m wall"),
	FORMAT_ROW("firefox", EXPORT_FIREFOX, "processed profile for profiler.firefox.com"),
	FORMAT_ROW("callgrind", EXPORT_CALLGRIND,
		   "call graph for KCachegrind and callgrind_annotate"),
	FORMAT_ROW("perf-script", EXPORT_PERF_SCRIPT, "text as 'perf script' prints it"),
	FORMAT_ROW("json", EXPORT_JSON, "every sample, in plain tables for scripts"),
	FORMAT_ROW("flamegraph", EXPORT_FLAMEGRAPH,
		   "one SVG file with zoom and search, for any browser"),
	FORMAT_ROW("html", EXPORT_HTML, "one page with a flame graph and a table, for any browser"),
	{.type = OPTION_SECTION, .name = "Files"},
	INPUT_OPTION_ROW(struct export_args, input),
	{.type = OPTION_FILE,
	 .short_name = 'o',
	 .name = "output",
	 .argument = "OUT",
	 .offset = AT(output),
	 .help = "write to OUT; - is standard output (default)"},
	{.type = OPTION_SECTION, .name = "Output"},
	METRIC_OPTION_ROW(struct export_args, metric, METRIC_HELP " (default: cpu)"),
	CHOICE_ROW(0, "weights", "WHICH", weights, weight_choices,
		   "weight of a sample: value, its share of the metric in ns, or samples, how many "
		   "observations it stands for (default: value)"),
	CHOICE_ROW(0, "threads", "HOW", threads, thread_choices,
		   "split: a time line or root per thread; merge: one for all threads of processes "
		   "with the same name (default: depends on the format)"),
	CHOICE_ROW(0, "names", "STYLE", names, name_choices,
		   "full, or short: without template arguments and parameters (default: depends on "
		   "the format)"),
	NO_INLINE_OPTION_ROW(struct export_args, no_inline),
	{.type = OPTION_FLAG,
	 .name = "idle",
	 .offset = AT(idle),
	 .help = "speedscope: show the time between samples as gaps, so that the time lines of "
		 "threads are aligned"},
	FILTER_OPTION_ROWS(struct export_args, filter),
	OPTIONS_END,
};

static int choose_format(const struct export_args *args, enum export_kind *kind, struct err *err)
{
	int nr = 0;

	*kind = EXPORT_SPEEDSCOPE;
	for (int i = 0; i < EXPORT_KIND_COUNT; i++) {
		if (!args->formats[i])
			continue;
		*kind = (enum export_kind)i;
		nr++;
	}
	if (nr == 1)
		return 0;
	err_set(err, ERR_INVALID, nr ? "more than one format given" : "no format given");
	err_hint(err, "for example: profc export --speedscope -o profile%s",
		 export_format(EXPORT_SPEEDSCOPE)->extension);
	return ERR_INVALID;
}

static bool to_stdout(const struct export_args *args)
{
	return !args->output || strcmp(args->output, "-") == 0;
}

static int refuse_terminal(const struct export_format *format, struct err *err)
{
	err_set(err, ERR_INVALID, "--%s is compressed: not writing it to a terminal", format->name);
	err_hint(err, "give a file: profc export --%s -o profile%s", format->name,
		 format->extension);
	return ERR_INVALID;
}

static enum metric chosen_metric(const struct export_args *args)
{
	return args->metric == NO_METRIC ? METRIC_CPU : (enum metric)args->metric;
}

/* The command line, checked: ERR_INVALID when it makes no sense. */
static int parse(struct export_args *args, int argc, char **argv, enum export_kind *kind,
		 struct filter *filter, struct err *err)
{
	const struct export_format *format;
	int first_word;
	int status = options_parse(rows, args, argc, argv, false, &first_word, err);

	if (status)
		return status;
	first_word += profile_options_take(&args->input, argc, argv, first_word);
	if (first_word < argc) {
		err_set(err, ERR_INVALID, "unexpected argument '%s'", argv[first_word]);
		err_hint(err, "use -i FILE for the profile, -o OUT for the output");
		return ERR_INVALID;
	}
	status = choose_format(args, kind, err);
	if (status)
		return status;
	format = export_format(*kind);
	if (format->compressed && to_stdout(args) && isatty(STDOUT_FILENO))
		return refuse_terminal(format, err);
	status = filter_options_apply(&args->filter, filter, err);
	return status ? status : filter_fits(filter, chosen_metric(args), err);
}

static int write_stdout(enum export_kind kind, const struct profile *profile,
			const struct export_options *options)
{
	struct err err = ERR_INIT;
	struct sink sink;

	sink_init_fd(&sink, STDOUT_FILENO);
	if (export_write(kind, profile, options, &sink, &err)) {
		sink_release(&sink);
		return fail_or_usage_error(&command_export, &err);
	}
	return flush_stdout(&sink);
}

static int write_file(enum export_kind kind, const struct profile *profile,
		      const struct export_options *options, const char *path)
{
	struct err err = ERR_INIT;
	struct output_file file;

	if (output_file_open(&file, path, &err))
		return fail_or_usage_error(&command_export, &err);
	if (export_write(kind, profile, options, &file.sink, &err)) {
		output_file_discard(&file);
		return fail_or_usage_error(&command_export, &err);
	}
	if (output_file_finish(&file, &err))
		return fail_or_usage_error(&command_export, &err);
	if (isatty(STDERR_FILENO))
		print_note("wrote %s", path);
	return EXIT_DONE;
}

/* A format that holds all metrics needs none of them. */
static int open_input(const struct export_args *args, enum export_kind kind,
		      struct profile **profile, enum metric *metric)
{
	int status;

	*metric = chosen_metric(args);
	if (args->metric != NO_METRIC || !export_format(kind)->all_metrics)
		return metric_is_memory(*metric)
			       ? open_profile_of_memory(args->input, *metric, profile)
			       : open_profile(args->input, profile);
	status = open_profile_of_any(args->input, profile);
	if (status == EXIT_DONE)
		*metric = metric_of_profile(*profile);
	return status;
}

static int write_profile(const struct export_args *args, enum export_kind kind,
			 const struct filter *filter)
{
	struct export_options options = {
		.weights = (enum export_weights)args->weights,
		.threads = (enum export_threads)args->threads,
		.fold_inlines = args->no_inline,
		.names = (enum export_names)args->names,
		.idle = args->idle,
		.filter = filter,
	};
	struct profile *profile;
	int status = open_input(args, kind, &profile, &options.metric);

	if (status)
		return status;
	profile_spread_cpu_time(profile);
	if (to_stdout(args))
		status = write_stdout(kind, profile, &options);
	else
		status = write_file(kind, profile, &options, args->output);
	profile_free(profile);
	return status;
}

static int run_export(const struct command *self, int argc, char **argv)
{
	struct export_args args = {.metric = NO_METRIC};
	struct filter filter;
	struct err err = ERR_INIT;
	enum export_kind kind;
	int status;

	if (parse(&args, argc, argv, &kind, &filter, &err))
		status = usage_error(self, &err);
	else
		status = write_profile(&args, kind, &filter);
	options_release(rows, &args);
	return status;
}

const struct command command_export = {
	.name = "export",
	.synopsis = "[-i FILE] --FORMAT [-o OUT]",
	.summary = "write a profile for another viewer",
	.help = "Writes the samples of a profile in the format of another viewer. Their weights\n"
		"add up to the totals of 'profc report'; time without a stack is included as\n"
		"[unattributed].\n"
		"\n"
		"Examples:\n"
		"  profc export --speedscope -o prog.speedscope.json\n"
		"  profc export --folded | flamegraph.pl >prog.svg\n"
		"  profc export --folded --metric blocked --thread '^worker'\n",
	.options = rows,
	.run = run_export,
};

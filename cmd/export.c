// SPDX-License-Identifier: GPL-2.0-or-later
/* profc export: writes a profile for another viewer. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/sink.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "cmd/command.h"
#include "cmd/export_values.h"
#include "cmd/long_task.h"
#include "cmd/page_options.h"
#include "cmd/push_options.h"
#include "cmd/push_profile.h"
#include "export/export_file.h"
#include "profile/profile.h"
#include "symbol/symbol.h"

struct export_args {
	const char *input, *output;
	bool formats[EXPORT_KIND_COUNT];
	struct export_values values;
	struct page_options page;
	bool idle;
	struct push_options push;
};

#define AT(member) offsetof(struct export_args, member)
#define FORMAT_ROW(kind, file, option, extension, compressed, all, time, threads, names, paths,    \
		   help_)                                                                          \
	{.type = OPTION_FLAG,                                                                      \
	 .name = (option),                                                                         \
	 .offset = AT(formats[EXPORT_##kind]),                                                     \
	 .help = (help_)},
static const struct option_row rows[] = {
	{.type = OPTION_SECTION, .name = "Formats (exactly one)"},
	/* clang-format off */
	EXPORT_FORMATS(FORMAT_ROW)
	/* clang-format on */
	{.type = OPTION_SECTION, .name = "Files"},
	INPUT_OPTION_ROW(struct export_args, input),
	{.type = OPTION_FILE,
	 .short_name = 'o',
	 .name = "output",
	 .argument = "OUT",
	 .offset = AT(output),
	 .help = "write to OUT; - is standard output (default)"},
	{.type = OPTION_FLAG,
	 .short_name = 'q',
	 .name = "quiet",
	 .offset = AT(push.quiet),
	 .help = "do not say what was written or pushed"},
	{.type = OPTION_SECTION, .name = "Output"},
	EXPORT_OPTION_ROWS(struct export_args, values),
	{.type = OPTION_FLAG,
	 .name = "idle",
	 .offset = AT(idle),
	 .help = "speedscope: show the time between samples as gaps, so that the time lines of "
		 "threads are aligned"},
	PAGE_OPTION_ROWS(struct export_args, page, "html: "),
	{.type = OPTION_SECTION, .name = "Pushing (with --pprof)"},
	PUSH_OPTION_ROWS(struct export_args, push),
	FILTER_OPTION_ROWS(struct export_args, values.filter),
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
	if (!nr && args->push.receiver) {
		err_hint(err, "--push sends pprof files: profc export --pprof --push %s",
			 args->push.receiver);
		return ERR_INVALID;
	}
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

static int check_sources(const struct export_args *args, enum export_kind kind, struct err *err)
{
	int status = page_options_check(&args->page, err);

	if (status)
		return status;
	if (args->page.source_paths.nr && kind != EXPORT_HTML)
		return err_set(err, ERR_INVALID, "--source-path needs --html");
	if (args->page.instructions && kind != EXPORT_HTML)
		return err_set(err, ERR_INVALID, "--asm needs --html");
	return 0;
}

static int check_push(const struct export_args *args, enum export_kind kind, struct err *err)
{
	if (!args->push.receiver)
		return 0;
	if (kind != EXPORT_PPROF)
		return err_set(err, ERR_INVALID, "--push needs --pprof");
	if (args->output)
		return err_set(err, ERR_INVALID, "--push and -o: a directory is a receiver, too");
	if (args->values.weights != EXPORT_WEIGHTS_VALUE)
		return err_set(err, ERR_INVALID, "--push sends values: --weights is not for it");
	return 0;
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
	status = check_sources(args, *kind, err);
	if (status)
		return status;
	status = check_push(args, *kind, err);
	if (status)
		return status;
	format = export_format(*kind);
	if (format->compressed && !args->push.receiver && to_stdout(args) && isatty(STDOUT_FILENO))
		return refuse_terminal(format, err);
	status = filter_options_apply(&args->values.filter, filter, err);
	return status ? status : filter_fits(filter, export_values_metric(&args->values), err);
}

static int write_stdout(enum export_kind kind, const struct profile *profile,
			const struct export_options *options, struct long_task *task)
{
	struct err err = ERR_INIT;
	struct sink sink;
	int failed;

	sink_init_fd(&sink, STDOUT_FILENO);
	/* On a terminal the text itself is seen. */
	long_task_begin(task, "exporting", !isatty(STDOUT_FILENO));
	failed = export_write(kind, profile, options, &sink, &err);
	long_task_end(task);
	if (failed) {
		sink_release(&sink);
		return fail_or_usage_error(&command_export, &err);
	}
	return flush_stdout(&sink);
}

static int write_file(enum export_kind kind, const struct profile *profile,
		      const struct export_options *options, const char *path,
		      struct long_task *task)
{
	struct err err = ERR_INIT;
	int failed;

	long_task_begin(task, "exporting", true);
	failed = export_to_path(kind, profile, options, path, &err);
	long_task_end(task);
	if (failed)
		return fail_or_usage_error(&command_export, &err);
	return EXIT_DONE;
}

static int write_output(const struct export_args *args, enum export_kind kind,
			const struct profile *profile, struct export_options options)
{
	struct long_task task;
	int status;

	options.progress = &task.progress;
	if (to_stdout(args))
		return write_stdout(kind, profile, &options, &task);
	status = write_file(kind, profile, &options, args->output, &task);
	if (status == EXIT_DONE && !args->push.quiet && isatty(STDERR_FILENO))
		print_note("wrote %s", args->output);
	return status;
}

static int write_profile(const struct export_args *args, enum export_kind kind,
			 const struct filter *filter, const struct push_target *target)
{
	struct source_maps maps;
	struct export_options options = export_values_apply(&args->values, filter);
	struct profile *profile;
	int status = export_values_open(&args->values, export_format(kind)->all_metrics,
					args->input, &profile, &options.metric);

	if (status)
		return status;
	options.idle = args->idle;
	page_options_apply(&args->page, profile, &maps, &options);
	if (target->is_wanted)
		status = push_profile(target, profile, &options, args->values.metric == NO_METRIC);
	else
		status = write_output(args, kind, profile, options);
	profile_free(profile);
	return status;
}

static int run_export(const struct command *self, int argc, char **argv)
{
	struct export_args args = {.values.metric = NO_METRIC};
	struct push_target target = {.is_wanted = false};
	struct filter filter;
	struct err err = ERR_INIT;
	enum export_kind kind;
	int status;

	if (parse(&args, argc, argv, &kind, &filter, &err))
		status = usage_error(self, &err);
	else if (push_options_apply(&args.push, &target, &err))
		status = fail_or_usage_error(self, &err);
	else
		status = write_profile(&args, kind, &filter, &target);
	push_target_release(&target);
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
		"  profc export --folded --metric blocked --thread '^worker'\n"
		"  profc export --pprof --push pyroscope+http://host:4040 --push-label "
		"env=test\n",
	.options = rows,
	.run = run_export,
};

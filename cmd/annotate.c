// SPDX-License-Identifier: GPL-2.0-or-later
/* profc annotate: source code with the cost of each line. */
#include "cmd/annotate.h"

#include <stddef.h>

#include "base/err.h"
#include "cmd/command.h"
#include "cmd/profile_options.h"
#include "cmd/weighed.h"
#include "profile/profile.h"

#define AT(member) offsetof(struct annotate_args, member)

static const struct option_row rows[] = {
	{.type = OPTION_SECTION, .name = "Output"},
	INPUT_OPTION_ROW(struct annotate_args, input),
	METRIC_OPTION_ROW(struct annotate_args, metric, METRIC_HELP " (default: cpu)"),
	{.type = OPTION_UINT,
	 .short_name = 'n',
	 .name = "limit",
	 .argument = "N",
	 .offset = AT(limit),
	 .help = "files, or functions with --asm, to show if none is named (default: 3)"},
	{.type = OPTION_UINT,
	 .name = "context",
	 .argument = "N",
	 .offset = AT(context),
	 .max = 1000000,
	 .help = "of lines without samples, show only N around others (default: all; 3 if no file "
		 "is named; 10 with --asm)"},
	SOURCE_PATH_OPTION_ROW(struct annotate_args, source_paths,
			       "look for sources recorded under OLD under NEW; repeatable"),
	{.type = OPTION_FLAG,
	 .name = "asm",
	 .offset = AT(instructions),
	 .help = "interleave instructions with source lines (needs objdump)"},
	JSON_OPTION_ROW(struct annotate_args, json),
	FILTER_OPTION_ROWS(struct annotate_args, filter),
	VIEW_OPTION_ROWS(struct annotate_args, view),
	UNIT_OPTION_ROW(struct annotate_args, view),
	OPTIONS_END,
};

static int annotate(const struct command *self, const struct annotate_args *args,
		    const struct filter *filter, char *const *words)
{
	const struct weigh_request request = {.input = args->input,
					      .filter = filter,
					      .words = words,
					      .with_kernel = args->filter.kernel,
					      .with_native = args->filter.native,
					      .metric = (enum metric)args->metric,
					      .or_counts = !args->instructions};
	struct weighed weighed;
	int status = weighed_open(&weighed, self, &request);

	if (status == EXIT_DONE)
		status = args->instructions ? annotate_instructions(args, weighed.weights, words)
					    : annotate_source(args, weighed.weights, words);
	weighed_close(&weighed);
	return status;
}

static int check_args(const struct annotate_args *args, struct err *err)
{
	if (args->json && args->instructions)
		return err_set(err, ERR_INVALID, "--json cannot be combined with --asm");
	return source_paths_check(&args->source_paths, err);
}

static int run_annotate(const struct command *self, int argc, char **argv)
{
	struct annotate_args args = {
		.limit = LIMIT_NOT_GIVEN, .context = CONTEXT_NOT_GIVEN, .view = VIEW_OPTIONS_INIT};
	struct filter filter;
	struct err err = ERR_INIT;
	int first_word, status;

	if (options_parse(rows, &args, argc, argv, false, &first_word, &err) ||
	    check_args(&args, &err) || filter_options_apply(&args.filter, &filter, &err))
		status = usage_error(self, &err);
	else
		status =
			annotate(self, &args, &filter,
				 argv + first_word +
					 profile_options_take(&args.input, argc, argv, first_word));
	options_release(rows, &args);
	return status;
}

const struct command command_annotate = {
	.name = "annotate",
	.synopsis = "[-i FILE] [OPTIONS] [SOURCE|FUNCTION]...",
	.summary = "show source code with the cost of each line",
	.help = "Shows source files, or the functions named, with the time spent in each line:\n"
		"self is time in the code of the line, total includes what it called. Inlined\n"
		"code is charged to the line it was written on and shown below the line it was\n"
		"inlined at. Where calls were counted, lines have their number, too. Files are "
		"matched by the end of their path.\n"
		"\n"
		"Examples:\n"
		"  profc annotate\n"
		"  profc annotate parse.c\n"
		"  profc annotate --source-path /build/prog=. read_token\n"
		"  profc annotate --asm read_token\n",
	.options = rows,
	.run = run_annotate,
};

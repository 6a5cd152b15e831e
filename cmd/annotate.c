// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/annotate.h"

#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "cmd/command.h"
#include "cmd/profile_options.h"
#include "cmd/weighed.h"
#include "profile/profile.h"

#define FILES_DEFAULT 3

#define AT(member) offsetof(struct annotate_args, member)

static const struct option_row rows[] = {
	{.type = OPTION_SECTION, .name = "What is shown"},
	INPUT_OPTION_ROW(struct annotate_args, input),
	METRIC_OPTION_ROW(struct annotate_args, metric, METRIC_HELP " [cpu]"),
	{.type = OPTION_UINT,
	 .short_name = 'n',
	 .name = "limit",
	 .argument = "N",
	 .offset = AT(limit),
	 .help = "files, with --asm functions, to show when none is named [3]"},
	{.type = OPTION_UINT,
	 .name = "context",
	 .argument = "N",
	 .offset = AT(context),
	 .max = 1000000,
	 .help = "of lines without cost only N around the others [all; 3 when no file is named; 10 "
		 "with --asm]"},
	{.type = OPTION_LIST,
	 .name = "source-path",
	 .argument = "OLD=NEW",
	 .offset = AT(source_paths),
	 .help = "sources recorded below OLD are below NEW now (repeats)"},
	{.type = OPTION_FLAG,
	 .name = "asm",
	 .offset = AT(instructions),
	 .help = "the instructions of functions, between their source lines (needs objdump)"},
	{.type = OPTION_FLAG, .name = "json", .offset = AT(json), .help = "for programs: JSON"},
	FILTER_OPTION_ROWS(struct annotate_args, filter),
	VIEW_OPTION_ROWS(struct annotate_args, view),
	OPTIONS_END,
};

static int annotate(const struct command *self, const struct annotate_args *args,
		    const struct filter *filter, char *const *words)
{
	const struct weigh_request request = {
		.input = args->input, .filter = filter, .metric = (enum metric)args->metric};
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
		return err_set(err, ERR_INVALID, "--json and --asm exclude each other");
	for (size_t i = 0; i < args->source_paths.nr; i++)
		if (!strchr(args->source_paths.values[i], '='))
			return err_set(err, ERR_INVALID, "--source-path '%s' is not OLD=NEW",
				       args->source_paths.values[i]);
	return 0;
}

static int run_annotate(const struct command *self, int argc, char **argv)
{
	struct annotate_args args = {
		.limit = FILES_DEFAULT, .context = CONTEXT_NOT_GIVEN, .view = VIEW_OPTIONS_INIT};
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
	.summary = "show source code with what each line cost",
	.help = "Shows source files, or the functions named, with the time each line used: self\n"
		"is time in the code of the line, total includes what it called. Inlined code is\n"
		"charged to the line it was written on and shown below the line it was inlined\n"
		"at. Files are found by the end of their path.\n"
		"\n"
		"  profc annotate\n"
		"  profc annotate parse.c\n"
		"  profc annotate --source-path /build/prog=. read_token\n"
		"  profc annotate --asm read_token\n",
	.options = rows,
	.run = run_annotate,
};

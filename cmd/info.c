// SPDX-License-Identifier: GPL-2.0-or-later
/* profc info: how a profile was recorded, and its quality. */
#include <stddef.h>

#include "base/err.h"
#include "cmd/command.h"
#include "cmd/pager.h"
#include "cmd/profile_options.h"
#include "cmd/view_options.h"
#include "profile/prepare.h"
#include "profile/profile.h"
#include "profile/survey.h"
#include "view/info.h"

struct info_args {
	const char *input;
	bool json;
	struct view_options view;
};

#define AT(member) offsetof(struct info_args, member)

static const struct option_row rows[] = {
	INPUT_OPTION_ROW(struct info_args, input),
	{.type = OPTION_FLAG,
	 .name = "json",
	 .offset = AT(json),
	 .help = "JSON output, with every process, thread and module"},
	VIEW_PAGE_OPTION_ROWS(struct info_args, view),
	OPTIONS_END,
};

static int parse(struct info_args *args, int argc, char **argv, struct err *err)
{
	int first_word;
	int status = options_parse(rows, args, argc, argv, false, &first_word, err);

	if (status)
		return status;
	return profile_options_word(&args->input, argc, argv, first_word, err);
}

static int print_info(const struct info_args *args, struct profile *profile)
{
	struct view view = view_options_resolve(&args->view);
	struct survey *survey;
	struct pager pager;
	int status;

	/* Distribute CPU time as the other views do, so that shares agree. */
	profile_prepare(profile);
	survey = survey_new(profile);
	pager_begin(&pager, !args->json && !args->view.no_pager);
	if (args->json)
		info_print_json(profile, survey, &pager.sink);
	else
		info_print_text(profile, survey, &view, &pager.sink);
	status = pager_end(&pager);
	survey_free(survey);
	return status;
}

static int run_info(const struct command *self, int argc, char **argv)
{
	struct info_args args = {.view = VIEW_OPTIONS_INIT};
	struct profile *profile;
	struct err err = ERR_INIT;
	int status;

	if (parse(&args, argc, argv, &err)) {
		status = usage_error(self, &err);
	} else {
		status = open_profile_even_empty(args.input, &profile);
		if (status == EXIT_DONE) {
			status = print_info(&args, profile);
			profile_free(profile);
		}
	}
	options_release(rows, &args);
	return status;
}

const struct command command_info = {
	.name = "info",
	.synopsis = "[-i FILE] [OPTIONS]",
	.summary = "show how a profile was recorded, and its quality",
	.help = "Shows the command, the host and the totals of a recording; how much of the time\n"
		"is in stacks complete to the root and why others are truncated; where the\n"
		"symbols of each module came from; losses, perturbation of the target and\n"
		"overhead of the profiler.\n"
		"\n"
		"Examples:\n"
		"  profc info\n"
		"  profc info -i before.data --json\n",
	.options = rows,
	.run = run_info,
};

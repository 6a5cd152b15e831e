// SPDX-License-Identifier: GPL-2.0-or-later
/* profc explain: says what stands out in a profile. */
#include <stddef.h>

#include "base/err.h"
#include "cmd/command.h"
#include "cmd/pager.h"
#include "cmd/profile_options.h"
#include "cmd/trigger_hint.h"
#include "cmd/view_options.h"
#include "profile/fold_scripts.h"
#include "profile/prepare.h"
#include "verdict/verdict.h"

struct explain_args {
	const char *input;
	bool json;
	struct view_options view;
};

static const struct option_row rows[] = {
	INPUT_OPTION_ROW(struct explain_args, input),
	JSON_OPTION_ROW(struct explain_args, json),
	VIEW_PAGE_OPTION_ROWS(struct explain_args, view),
	OPTIONS_END,
};

static int explain(const struct explain_args *args)
{
	struct view view = view_options_resolve(&args->view);
	struct verdict *verdict;
	struct profile *profile;
	struct pager pager;
	int status = open_profile_of_any(args->input, &profile);

	if (status != EXIT_DONE)
		return status;
	profile_prepare(profile);
	profile_fold_scripts(profile);
	if (!args->json)
		trigger_hint_print(profile, args->input);
	verdict = verdict_of_profile(profile);
	pager_begin(&pager, !args->json && !args->view.no_pager);
	if (args->json)
		verdict_print_json(verdict, args->input, &pager.sink);
	else
		verdict_print_text(verdict, &view, args->input, &pager.sink);
	status = pager_end(&pager);
	verdict_free(verdict);
	profile_free(profile);
	return status;
}

static int run_explain(const struct command *self, int argc, char **argv)
{
	struct explain_args args = {.view = VIEW_OPTIONS_INIT};
	struct err err = ERR_INIT;
	int first_word, status = options_parse(rows, &args, argc, argv, false, &first_word, &err);

	if (status == 0)
		status = profile_options_word(&args.input, argc, argv, first_word, &err);
	status = status ? usage_error(self, &err) : explain(&args);
	options_release(rows, &args);
	return status;
}

const struct command command_explain = {
	.name = "explain",
	.synopsis = "[-i FILE] [OPTIONS]",
	.summary = "say what stands out in a profile, and why",
	.help = "One line of verdict: a lock and what its owner did, a system call, short "
		"processes, a hot function, memory that grows, or that nothing stands out. Then "
		"the "
		"evidence, with 95% confidence intervals, what was looked at and is not it, and "
		"the "
		"command that shows more.\n"
		"\n"
		"Examples:\n"
		"  profc explain\n"
		"  profc explain -i build.profc --json\n",
	.options = rows,
	.run = run_explain,
};

// SPDX-License-Identifier: GPL-2.0-or-later
/* profc view: shows a profile in the browser. */
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "cmd/command.h"
#include "cmd/export_values.h"
#include "cmd/html_page.h"
#include "cmd/page_options.h"

struct view_args {
	const char *input, *output;
	bool no_open;
	struct export_values values;
	struct page_options page;
};

static const struct option_row rows[] = {
	INPUT_OPTION_ROW(struct view_args, input),
	{.type = OPTION_FILE,
	 .short_name = 'o',
	 .name = "output",
	 .argument = "FILE",
	 .offset = offsetof(struct view_args, output),
	 .help = "write the page to FILE (default: a temporary file)"},
	{.type = OPTION_FLAG,
	 .name = "no-open",
	 .offset = offsetof(struct view_args, no_open),
	 .help = "do not open it, only say where it is"},
	{.type = OPTION_SECTION, .name = "Page"},
	EXPORT_OPTION_ROWS(struct view_args, values),
	PAGE_OPTION_ROWS(struct view_args, page, ""),
	FILTER_OPTION_ROWS(struct view_args, values.filter),
	OPTIONS_END,
};

static int parse(struct view_args *args, int argc, char **argv, struct filter *filter,
		 struct err *err)
{
	int first_word;
	int status = options_parse(rows, args, argc, argv, false, &first_word, err);

	if (status == 0)
		status = profile_options_word(&args->input, argc, argv, first_word, err);
	if (status == 0 && args->output && strcmp(args->output, "-") == 0) {
		status = err_set(err, ERR_INVALID, "a page on standard output cannot be opened");
		err_hint(err, "profc export --html writes it there");
	}
	if (status == 0)
		status = page_options_check(&args->page, err);
	if (status == 0)
		status = filter_options_apply(&args->values.filter, filter, err);
	return status ? status : filter_fits(filter, export_values_metric(&args->values), err);
}

static int run_view(const struct command *self, int argc, char **argv)
{
	struct view_args args = {.values.metric = NO_METRIC};
	struct filter filter;
	struct err err = ERR_INIT;
	int status;

	if (parse(&args, argc, argv, &filter, &err))
		status = usage_error(self, &err);
	else
		status = html_page_make(self,
					&(struct html_page_request){.input = args.input,
								    .output = args.output,
								    .opens = !args.no_open,
								    .shows_progress = true,
								    .page = &args.page},
					&args.values, &filter);
	options_release(rows, &args);
	return status;
}

const struct command command_view = {
	.name = "view",
	.synopsis = "[-i FILE] [OPTIONS]",
	.summary = "show a profile in the browser",
	.help = "Writes the page of 'profc export --html' to a file of your own, and opens that: "
		"nothing is served, and nothing leaves this machine. The browser is $BROWSER, or "
		"that of the desktop; where there is none, as in a shell on another machine, the "
		"name of the page is printed.\n"
		"\n"
		"Examples:\n"
		"  profc view\n"
		"  profc view build.profc -m wall\n"
		"  profc view --no-open -o build.html build.profc",
	.options = rows,
	.run = run_view,
};

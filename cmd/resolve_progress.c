// SPDX-License-Identifier: GPL-2.0-or-later
/* Resolves symbols with progress on the terminal. */
#include "cmd/resolve_progress.h"

#include "cmd/command.h"
#include "cmd/mapped_files.h"
#include "symbol/resolve.h"

static void report(void *context, size_t done, size_t nr, const char *module)
{
	(void)context;
	print_progress("profc: symbols: %zu of %zu modules, %s", done, nr, module);
}

static void report_question(void *context, const char *module)
{
	(void)context;
	print_progress("profc: symbols: querying DEBUGINFOD_URLS for %s", module);
}

void resolve_with_progress(struct profile *profile, const struct symbol_options *options,
			   bool shown)
{
	const struct resolve_progress progress = {.report = report, .asks = report_question};

	shown = shown && may_show_progress();
	if (shown)
		print_progress("profc: resolving symbols");
	resolve_profile(profile, options, shown ? &progress : NULL);
	if (shown)
		print_progress("%s", "");
	if (mapped_files_were_cut())
		print_warning("a program file was truncated while it was read: symbols may be "
			      "missing ('profc symbolize' tries again)");
}

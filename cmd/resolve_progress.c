// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/resolve_progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/escape.h"
#include "cmd/command.h"
#include "cmd/mapped_files.h"
#include "symbol/resolve.h"

static void report(void *context, size_t done, size_t nr, const char *module)
{
	struct buf name = {.nr_bytes = 0};

	(void)context;
	escape_terminal(&name, module);
	fprintf(stderr, "\r\033[Kprofc: names: %zu of %zu modules, %s", done, nr, buf_str(&name));
	fflush(stderr);
	buf_release(&name);
}

void resolve_with_progress(struct profile *profile, const struct symbol_options *options,
			   bool shown)
{
	const struct resolve_progress progress = {.report = report};

	shown = shown && isatty(STDERR_FILENO);
	if (shown)
		fputs("\r\033[Kprofc: looking up names", stderr);
	resolve_profile(profile, options, shown ? &progress : NULL);
	if (shown)
		fputs("\r\033[K", stderr);
	if (mapped_files_were_cut())
		print_warning("a program file was cut short while it was read: names may be "
			      "missing (profc symbolize looks again)");
}

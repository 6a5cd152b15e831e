// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes the page of a profile, and opens it. */
#include "cmd/html_page.h"

#include <stdlib.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/private_file.h"
#include "cmd/command.h"
#include "cmd/export_values.h"
#include "cmd/long_task.h"
#include "cmd/page_options.h"
#include "desktop/browser.h"
#include "export/export_file.h"
#include "profile/profile.h"

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

static bool open_in_browser(const char *path, struct buf *why)
{
	const struct browser_choice choice = {
		.browser = getenv("BROWSER"),
		.path = getenv("PATH") ? getenv("PATH") : "/bin:/usr/bin",
		.has_display = is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"),
		.is_wsl = is_set("WSL_DISTRO_NAME"),
	};

	return browser_open(&choice, path, why);
}

/* Whoever is somewhere else has to fetch it. */
static void hint_at_copying(const char *path)
{
	struct utsname host;
	struct buf word = {0};

	escape_shell(&word, path);
	if (is_set("SSH_CONNECTION") && uname(&host) == 0)
		print_hint("open it in a browser, after: scp %s:%s .", host.nodename,
			   buf_str(&word));
	else
		print_hint("open it in a browser, or set BROWSER to the command that does");
	buf_release(&word);
}

static void show(const char *path, const struct html_page_request *request)
{
	cleanup_free char *absolute = realpath(path, NULL);
	struct buf why = {0};

	if (!request->opens) {
		if (!request->quiet)
			print_note("wrote %s", path);
	} else if (open_in_browser(absolute ? absolute : path, &why)) {
		if (!request->quiet)
			print_note("opened %s", path);
	} else {
		print_note("wrote %s, but did not open it: %s", path, buf_str(&why));
		hint_at_copying(absolute ? absolute : path);
	}
	buf_release(&why);
}

/* *path: the name of a temporary file; NULL if it was given one. */
static int write_page(const struct profile *profile, const struct export_options *options,
		      const char *output, char **path, struct err *err)
{
	const char *directory = private_file_directory(getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"));

	if (output)
		return export_to_path(EXPORT_HTML, profile, options, output, err);
	return export_to_private_file(EXPORT_HTML, profile, options, directory, path, err);
}

int html_page_make(const struct command *command, const struct html_page_request *request,
		   const struct export_values *values, const struct filter *filter)
{
	struct export_options options = export_values_apply(values, filter);
	struct err err = ERR_INIT;
	struct long_task task;
	struct source_maps maps;
	struct profile *profile;
	char *path = NULL;
	int status = export_values_open(values, true, request->input, &profile, &options.metric);

	if (status != EXIT_DONE)
		return status;
	long_task_begin(&task, "making the page", request->shows_progress);
	options.progress = &task.progress;
	page_options_apply(request->page ? request->page : &(struct page_options){0}, profile,
			   &maps, &options);
	status = write_page(profile, &options, request->output, &path, &err);
	long_task_end(&task);
	if (status == 0)
		show(path ? path : request->output, request);
	else
		status = command ? fail_or_usage_error(command, &err) : fail_with(&err);
	free(path);
	profile_free(profile);
	return status;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Uses a recording once its file is complete: says what stands out, keeps sources, writes a page.
 */
#include <signal.h>

#include "base/alloc.h"
#include "base/err.h"
#include "cmd/command.h"
#include "cmd/export_values.h"
#include "cmd/html_page.h"
#include "cmd/keep_source.h"
#include "cmd/record_options.h"
#include "cmd/recording_priv.h"
#include "export/export_file.h"
#include "profile/fold_scripts.h"
#include "profile/prepare.h"
#include "profile/profile.h"
#include "store/store.h"
#include "verdict/verdict.h"

static bool has_page(const struct use_options *use)
{
	return use->html || use->open;
}

static int make_page(const struct use_options *use, const char *path, bool quiet,
		     bool shows_progress)
{
	const struct export_values values = {.metric = NO_METRIC};
	const struct filter everything = {.from_ns = 0};
	cleanup_free char *beside = export_name_beside(EXPORT_HTML, path);
	struct html_page_request request = {.input = path,
					    .output = use->html,
					    .opens = use->open,
					    .quiet = quiet,
					    .shows_progress = shows_progress};

	if (use->html && !*use->html)
		request.output = beside;
	return html_page_make(NULL, &request, &values, &everything);
}

/* Read the file: the samples are no longer in memory. */
void recording_explain(const struct recording *recording, const struct recorded *recorded,
		       const char *path, int fd)
{
	bool is_hurried = recording->ending.nr_asked > 1 || recording->ending.listener.asked;
	struct verdict *verdict = NULL;
	struct store_salvage salvage = {0};
	struct profile *profile;

	if (!recording->options->count.no_cpu && fd >= 0 && !is_hurried &&
	    store_read(fd, &profile, &salvage, NULL) == 0) {
		profile_prepare(profile);
		profile_fold_scripts(profile);
		verdict = verdict_of_profile(profile);
		profile_free(profile);
	}
	recording_say_next(&recording->options->count, recorded, path, verdict);
	verdict_free(verdict);
}

bool recording_has_uses(const struct use_options *use)
{
	return has_page(use) || use->with_source;
}

int recording_use(const struct recording *recording, const char *path, bool shows_progress)
{
	const struct use_options *use = &recording->options->use;
	bool quiet = recording->options->quiet;
	sigset_t ours;
	int status = EXIT_DONE;

	if (recording->ending.nr_asked > 1 || recording->ending.listener.asked) {
		if (use->with_source)
			print_warning("no source is kept: 'profc symbolize --with-source' does it");
		if (has_page(use))
			print_warning("no page is written: 'profc view' makes one");
		return EXIT_DONE;
	}
	/* The profile is complete: Ctrl-C ends only this work now. */
	pthread_sigmask(SIG_SETMASK, &recording->former_signals.mask, &ours);
	if (use->with_source)
		status = keep_source_in(path, quiet);
	if (status == EXIT_DONE && has_page(use))
		status = make_page(use, path, quiet, shows_progress);
	pthread_sigmask(SIG_SETMASK, &ours, NULL);
	return status == EXIT_DONE ? EXIT_DONE : recording_failed_status(recording);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Timed calls in `profc report`. */
#include "cmd/report_spans.h"

#include "base/err.h"
#include "cmd/command.h"
#include "cmd/pager.h"
#include "cmd/view_options.h"
#include "profile/profile.h"
#include "view/spans_text.h"

static int print(const struct profile *profile, const struct view_options *options, bool json)
{
	const struct view view = view_options_resolve(options);
	struct err err = ERR_INIT;
	struct pager pager;

	if (!profile->spans.nr) {
		err_set(&err, ERR_EMPTY, "no calls were timed");
		err_hint(&err, profile_has_counts(profile)
				       ? "'profc info' says what had no probe, and why"
				       : "'profc record --spans FUNC' times those of a function");
		return fail_with(&err);
	}
	pager_begin(&pager, !options->no_pager && !json);
	if (json)
		spans_print_json(profile, &pager.sink);
	else
		spans_print_text(profile, &view, &pager.sink);
	return pager_end(&pager);
}

int report_spans(const char *input, const struct view_options *options, bool json)
{
	struct profile *profile;
	int status = open_profile_even_empty(input, &profile);

	if (status != EXIT_DONE)
		return status;
	status = print(profile, options, json);
	profile_free(profile);
	return status;
}

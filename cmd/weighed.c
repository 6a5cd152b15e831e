// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/weighed.h"

#include "base/err.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"
#include "cmd/command.h"
#include "profile/spread.h"

/* There are samples, but none of this metric or none that pass the filter. */
static int nothing_to_show(const struct weights *weights)
{
	const struct profile *profile = weights->selection->expansion->profile;
	bool is_count = weights->metric == METRIC_SAMPLES;
	struct err err = ERR_INIT;

	if (profile_total(profile, weights->metric) > 0) {
		err_set(&err, ERR_EMPTY, "no samples%s%s: the filter leaves none",
			is_count ? "" : " with any time of metric ",
			is_count ? "" : metric_name(weights->metric));
	} else {
		err_set(&err, ERR_EMPTY, "no samples with any time of metric %s",
			metric_name(weights->metric));
		if (profile_total(profile, METRIC_WALL) > 0)
			err_hint(&err, "'profc report --by state' shows how the time passed");
	}
	print_err(&err);
	return EXIT_CANNOT;
}

int weighed_open(struct weighed *weighed, const struct command *command,
		 const struct weigh_request *request)
{
	struct err err = ERR_INIT;
	int status;

	*weighed = (struct weighed){0};
	status = open_profile(request->input, &weighed->profile);
	if (status != EXIT_DONE)
		return status;
	profile_spread_cpu_time(weighed->profile);
	weighed->expansion = expansion_new(weighed->profile, request->fold_inlines);
	if (selection_new(weighed->expansion, request->filter, &weighed->selection, &err))
		return usage_error(command, &err);
	weighed->weights = weights_new(weighed->selection, request->metric);
	return weighed->weights->total.weight > 0 ? EXIT_DONE : nothing_to_show(weighed->weights);
}

void weighed_close(struct weighed *weighed)
{
	weights_free(weighed->weights);
	selection_free(weighed->selection);
	expansion_free(weighed->expansion);
	profile_free(weighed->profile);
}

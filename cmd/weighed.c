// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens a profile and sums its samples for a view. */
#include "cmd/weighed.h"

#include "base/err.h"
#include "calltree/counts.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/find.h"
#include "calltree/weights.h"
#include "cmd/command.h"
#include "view/summary.h"

int weighed_open(struct weighed *weighed, const struct command *command,
		 const struct weigh_request *request)
{
	struct err err = ERR_INIT;
	int status;

	*weighed = (struct weighed){0};
	if (filter_fits(request->filter, request->of_leaks ? METRIC_LIVE : request->metric, &err))
		return fail_or_usage_error(command, &err);
	status =
		metric_is_memory(request->metric)
			? open_profile_of_memory(request->input, request->metric, &weighed->profile)
		: request->or_counts ? open_profile_or_counts(request->input, &weighed->profile)
				     : open_profile(request->input, &weighed->profile);
	if (status != EXIT_DONE)
		return status;
	prepare_profile(weighed->profile, request->input, request->with_kernel,
			request->with_native);
	find_show_asked(weighed->profile, request->filter, request->words);
	weighed->expansion = expansion_new(weighed->profile, request->fold_inlines);
	status = selection_new(weighed->expansion, request->filter, &weighed->selection, &err);
	if (status == ERR_NOT_FOUND)
		err_prefix(&err, "%s", profile_path_or_default(request->input));
	if (status)
		return fail_or_usage_error(command, &err);
	weighed->weights = weights_new(weighed->selection, request->metric);
	if (weighed->weights->total.weight == 0 && request->or_cpu) {
		weights_free(weighed->weights);
		weighed->weights = weights_new(weighed->selection, METRIC_CPU);
	}
	if (weighed->weights->total.weight > 0 ||
	    (request->or_nothing && selection_elapsed_ns(weighed->selection) > 0) ||
	    (request->of_leaks && tally_blocks(&weighed->weights->total) > 0) ||
	    (request->or_counts && !metric_is_memory(request->metric) &&
	     counts_are_any(weighed->weights->counts)))
		return EXIT_DONE;
	summary_explain_nothing(&err, weighed->weights, request->input,
				profile_path_or_default(request->input));
	return fail_with(&err);
}

void weighed_close(struct weighed *weighed)
{
	weights_free(weighed->weights);
	selection_free(weighed->selection);
	expansion_free(weighed->expansion);
	profile_free(weighed->profile);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* The options that commands which write exports share. */
#include "cmd/export_values.h"

#include "cmd/command.h"

const char *const export_thread_choices[] = {"auto", "merge", "split", NULL};
const char *const export_weight_choices[] = {"value", "samples", NULL};
const char *const export_name_choices[] = {"auto", "full", "short", NULL};

enum metric export_values_metric(const struct export_values *values)
{
	return values->metric == NO_METRIC ? METRIC_CPU : (enum metric)values->metric;
}

struct export_options export_values_apply(const struct export_values *values,
					  const struct filter *filter)
{
	return (struct export_options){
		.metric = export_values_metric(values),
		.any_metric = values->metric == NO_METRIC,
		.weights = (enum export_weights)values->weights,
		.threads = (enum export_threads)values->threads,
		.fold_inlines = values->no_inline,
		.names = (enum export_names)values->names,
		.filter = filter,
	};
}

int export_values_open(const struct export_values *values, bool any, const char *input,
		       struct profile **profile, enum metric *metric)
{
	bool is_any = any && values->metric == NO_METRIC;
	int status;

	*metric = export_values_metric(values);
	if (metric_is_memory(*metric))
		status = open_profile_of_memory(input, *metric, profile);
	else
		status =
			is_any ? open_profile_of_any(input, profile) : open_profile(input, profile);
	if (status != EXIT_DONE)
		return status;
	if (is_any)
		*metric = metric_of_profile(*profile);
	prepare_profile(*profile, input, values->filter.kernel, values->filter.native);
	return EXIT_DONE;
}

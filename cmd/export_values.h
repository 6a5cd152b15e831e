/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that commands which write exports share. */
#ifndef PROFC_CMD_EXPORT_VALUES_H
#define PROFC_CMD_EXPORT_VALUES_H

#include "cmd/filter_options.h"
#include "cmd/profile_options.h"
#include "export/export_options.h"

/* The metric, where none was chosen. */
#define NO_METRIC (-1)

struct export_values {
	int metric;		     /* NO_METRIC: what suits the profile */
	int threads, weights, names; /* indexes of the choices below */
	bool no_inline;
	struct filter_options filter;
};

/* In the order of their enums. */
extern const char *const export_thread_choices[], *const export_weight_choices[],
							  *const export_name_choices[];

/* clang-format off */
#define EXPORT_CHOICE_ROW(name_, argument_, offset_, choices_, help_)                              \
	{.type = OPTION_CHOICE, .name = (name_), .argument = (argument_), .offset = (offset_),    \
	 .choices = (choices_), .help = (help_)}

#define EXPORT_OPTION_ROWS(values, member)                                                         \
	METRIC_OPTION_ROW(values, member.metric,                                                   \
		METRIC_HELP " (default: cpu; of a page, the metric of its verdict)"),              \
	EXPORT_CHOICE_ROW("weights", "WHICH", offsetof(values, member.weights),                    \
		export_weight_choices,                                                             \
		"weight of a sample: value, its share of the metric in ns, or samples, how many "  \
		"observations it stands for (default: value)"),                                    \
	EXPORT_CHOICE_ROW("threads", "HOW", offsetof(values, member.threads),                      \
		export_thread_choices,                                                             \
		"split: a time line or root per thread; merge: one for all threads of processes "  \
		"with the same name (default: depends on the format)"),                            \
	EXPORT_CHOICE_ROW("names", "STYLE", offsetof(values, member.names), export_name_choices,   \
		"full, or short: without template arguments and parameters (default: depends on "  \
		"the format)"),                                                                    \
	NO_INLINE_OPTION_ROW(values, member.no_inline)
/* clang-format on */

/* The metric to check filters by; where none was chosen it is the profile's, later. */
enum metric export_values_metric(const struct export_values *values);
/* The options for an exporter. The filter is borrowed. */
struct export_options export_values_apply(const struct export_values *values,
					  const struct filter *filter);

/*
 * Open the profile for that, with CPU time spread; `any`: if no metric was chosen it is the
 * profile's own. Returns the status to exit with.
 */
int export_values_open(const struct export_values *values, bool any, const char *input,
		       struct profile **profile, enum metric *metric);

#endif

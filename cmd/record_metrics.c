// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's counters that are recorded beside time. */
#include "cmd/record_metrics.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cmd/record_options.h"
#include "proc/event_counter.h"
#include "profile/metric.h"

static int check(enum kernel_counter counter, struct err *err)
{
	return kernel_counters_check(&event_opener_of_kernel, KERNEL_COUNTER_BIT(counter), err);
}

bool record_metrics_help(const struct record_options *options)
{
	size_t i = 0;

	while (i < options->metrics.texts.nr &&
	       strcmp(options->metrics.texts.values[i], "help") != 0)
		i++;
	if (i == options->metrics.texts.nr)
		return false;
	puts("metrics that can be recorded here:");
	for (int counter = 0; counter < NR_KERNEL_COUNTERS; counter++) {
		enum metric metric = metric_of_counter((enum kernel_counter)counter);
		struct err err = ERR_INIT;

		check((enum kernel_counter)counter, &err);
		printf("  %-15s %s%s%s\n", metric_name(metric), metric_info(metric)->summary,
		       err.code ? "; not here: " : "", err.code ? err.what : "");
	}
	return true;
}

static int parse(const char *text, unsigned int *set, struct err *err)
{
	enum metric metric;

	if (metric_parse(text, &metric) && metric_is_counter(metric)) {
		*set |= KERNEL_COUNTER_BIT(metric_counter(metric));
		return 0;
	}
	err_set(err, ERR_INVALID, "--metrics has no '%s'", text);
	err_hint(err, "--metrics help lists what can be recorded; time always is, and memory with "
		      "--mem");
	return ERR_INVALID;
}

int record_metrics_parse(struct record_options *options, struct err *err)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < options->metrics.texts.nr; i++)
		status = parse(options->metrics.texts.values[i], &options->metrics.counters, err);
	if (status == 0 && options->metrics.counters &&
	    (options->count.no_cpu || options->count.within))
		status = err_set(err, ERR_INVALID, "--metrics cannot be combined with %s",
				 options->count.no_cpu ? "--no-cpu" : "--within");
	for (int i = 0; i < NR_KERNEL_COUNTERS && status == 0; i++) {
		enum kernel_counter counter = (enum kernel_counter)i;

		if (!(options->metrics.counters & KERNEL_COUNTER_BIT(i)))
			continue;
		status = check(counter, err);
		if (status < 0)
			err_prefix(err, "--metrics %s", metric_name(metric_of_counter(counter)));
	}
	return status;
}

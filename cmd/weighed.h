/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile that is opened, filtered and summed for a view. */
#ifndef PROFC_CMD_WEIGHED_H
#define PROFC_CMD_WEIGHED_H

#include <stdbool.h>

#include "profile/profile.h"

struct command;
struct expansion;
struct filter;
struct selection;
struct weights;

/* A profile, expanded, filtered and summed: the input of every view. */
struct weighed {
	struct profile *profile;
	struct expansion *expansion;
	struct selection *selection;
	struct weights *weights;
};

struct weigh_request {
	const char *input; /* as open_profile() takes it */
	const struct filter *filter;
	char *const *words; /* names of functions that the user asked for; NULL: none */
	enum metric metric;
	bool fold_inlines;
	bool with_kernel; /* functions of the kernel in stacks */
	bool with_native; /* all native functions of interpreters in stacks */
	bool or_nothing;  /* filters may leave nothing of a time that was recorded */
	bool or_counts;	  /* exact counts are enough, without samples */
	bool of_leaks;	  /* filters are of leaks: the metric only says that it is of memory */
	bool or_cpu;	  /* METRIC_CPU in its place if there is nothing of the metric */
};

/*
 * EXIT_DONE, or the status to exit with after the message: no profile, a bad
 * filter, or nothing of this metric in what it leaves. Close it in either case.
 */
int weighed_open(struct weighed *weighed, const struct command *command,
		 const struct weigh_request *request);
void weighed_close(struct weighed *weighed);

#endif

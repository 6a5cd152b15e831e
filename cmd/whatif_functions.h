/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_WHATIF_FUNCTIONS_H
#define PROFC_CMD_WHATIF_FUNCTIONS_H

#include <stddef.h>
#include <sys/types.h>

#include "calltree/expand.h"
#include "holding/experiment.h"
#include "view/whatif_text.h"

struct err;
struct profile;

/* A function to be tried, and where its code is in the process. */
struct whatif_candidate {
	struct experiment_range *ranges; /* owned */
	size_t nr_ranges, cap_ranges;
};

struct whatif_candidates {
	struct whatif_row *rows; /* owned, with their texts */
	struct whatif_candidate *candidates;
	size_t nr;
};

struct whatif_request {
	const struct profile *profile; /* borrowed, with symbols */
	pid_t pid;
	size_t limit;
	enum name_style names;
};

/*
 * Find the functions with the most CPU time of their own in a profile, what is inlined
 * in them included; at most `limit`. ERR_NOT_FOUND: none was sampled. Caller releases it anyway.
 */
int whatif_candidates_find(struct whatif_candidates *found, const struct whatif_request *request,
			   struct err *err);
void whatif_candidates_release(struct whatif_candidates *candidates);

#endif

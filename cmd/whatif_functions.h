/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_WHATIF_FUNCTIONS_H
#define PROFC_CMD_WHATIF_FUNCTIONS_H

#include <stddef.h>
#include <sys/types.h>

#include "calltree/expand.h"
#include "holding/experiment.h"
#include "mapping/module.h"
#include "view/whatif_facts.h"

struct err;
struct profile;
struct space;

/* A function to be tried, and where its code is in the process that is looked at. */
struct whatif_candidate {
	struct module_id module;
	struct code_range *parts; /* owned: in the module */
	size_t nr_parts;
	struct experiment_range *ranges; /* owned */
	size_t nr_ranges, cap_ranges;
};

struct whatif_candidates {
	struct whatif_row *rows; /* owned, with their texts */
	struct whatif_candidate *candidates;
	size_t nr;
	struct module_table *modules; /* borrowed, of the profile */
	struct space *space;	      /* owned: of the process; or NULL */
};

struct whatif_request {
	const struct profile *profile; /* with symbols; outlives the candidates */
	pid_t pid; /* 0: it has ended, and whatif_candidates_map() is to follow */
	size_t limit;
	enum name_style names;
};

/*
 * Find the functions with the most CPU time of their own in a profile, what is inlined
 * in them included; at most `limit`. ERR_NOT_FOUND: none was sampled. Caller releases it anyway.
 */
int whatif_candidates_find(struct whatif_candidates *found, const struct whatif_request *request,
			   struct err *err);
/*
 * Find their code in a process, also in one that runs the program again: where it is now. Call it
 * again where more may be mapped. What is not mapped has no ranges.
 */
void whatif_candidates_map(struct whatif_candidates *candidates, pid_t pid);
void whatif_candidates_release(struct whatif_candidates *candidates);

#endif

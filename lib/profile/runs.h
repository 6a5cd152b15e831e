/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recordings that were merged into one. */
#ifndef PROFC_PROFILE_RUNS_H
#define PROFC_PROFILE_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"

struct profile;

/*
 * Add the runs of another profile; one that was not merged is one run itself. Common runs are not
 * detected: a recording that was merged twice is two runs.
 */
void profile_add_runs_of(struct profile *into, const struct profile *from);

/* Runs of one command on one host. */
struct run_group {
	struct str_id command, hostname;
	size_t nr_runs;
	uint64_t first_ns, last_ns; /* when the first and the last of them began; 0: not known */
};

/* In the order of their first runs. The caller frees them. */
struct run_group *profile_group_runs(const struct profile *profile, size_t *nr);

#endif

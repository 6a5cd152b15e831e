/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_INFO_COUNTS_H
#define PROFC_VIEW_INFO_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "view/style.h"

struct profile;
struct sink;

/* What a recording counted, in short. */
struct counted {
	uint64_t functions, calls; /* distinct places: where functions begin; call instructions */
	uint64_t processes;
	uint64_t from_start;	/* of these, those of which nothing was missed */
	uint64_t first_from_ns; /* when the earliest of the others began to be counted */
};

struct counted counted_of(const struct profile *profile);

/*
 * What was counted, since when and at what cost; then what could not be counted, by reason with
 * some names each. Nothing if counts were not asked for.
 */
void info_print_counts(const struct profile *profile, const struct view *view, struct sink *sink);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of the points of a lane by path. */
#ifndef PROFC_EXPORT_PATH_SUMS_PRIV_H
#define PROFC_EXPORT_PATH_SUMS_PRIV_H

#include <stddef.h>
#include <stdint.h>

#include "stack/stack.h"

struct extract;
struct lane;

/* A distinct path of a lane and the sums of its points. */
struct path_sum {
	struct stack_id path;
	uint64_t weight, nr; /* weight > 0 */
};

/* The sums of one lane after the other; zero-initialised is empty, the room is reused. */
struct path_sums {
	struct path_sum *sums; /* in order of the paths' first occurrence */
	size_t nr_sums, cap_sums;
	uint32_t *index_of_path; /* private: into sums, + 1; all 0 between lanes */
};

/* Replace the content by the sums of a lane. */
void path_sums_lane(struct path_sums *sums, const struct extract *extract, const struct lane *lane);
void path_sums_release(struct path_sums *sums);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All metrics of an extract, added up by path. */
#ifndef PROFC_EXPORT_METRIC_SUMS_PRIV_H
#define PROFC_EXPORT_METRIC_SUMS_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index_set.h"
#include "profile/profile.h"
#include "stack/stack.h"

struct extract;

/* One kind of value, named as pprof's own profilers name it. */
struct metric_column {
	enum metric metric;
	bool is_number;	  /* of observations or blocks, not their weight */
	const char *type; /* "cpu", "inuse_space" */
	const char *unit; /* "nanoseconds", "bytes", "count" */
};

#define METRIC_COLUMNS_MAX (2 * METRIC_COUNT)

/* Values of the same path of the same group of threads, with the same labels. */
struct metric_row {
	uint32_t group;
	uint32_t labels;      /* number of a label (profile/labels.h) */
	struct stack_id path; /* of extract.paths */
};

/*
 * Whatever the recording has, whichever metric the options choose: that is only the default, unless
 * it is to be the only one. With EXPORT_WEIGHTS_SAMPLES it is the numbers of observations of that
 * metric alone. Rows without any value are left out.
 *
 * A group is a thread where threads are split, those of the processes of one name where they are
 * merged, and all threads by default.
 */
struct metric_sums {
	struct metric_column columns[METRIC_COLUMNS_MAX];
	unsigned int nr_columns, default_column;
	struct metric_row *rows; /* owned; in order of first occurrence */
	size_t nr_rows, cap_rows;
	uint64_t *values; /* owned; nr_columns of each row */
	size_t nr_values, cap_values;
	struct index_set set; /* private */
};

/* Adds to the paths of the extract those that its own metric does not need. */
void metric_sums_init(struct metric_sums *sums, const struct extract *extract);
void metric_sums_release(struct metric_sums *sums);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_RECORD_METRICS_H
#define PROFC_CMD_RECORD_METRICS_H

#include <stdbool.h>

struct err;
struct record_options;

/* Is there a `--metrics help`? Then its answer has been printed. */
bool record_metrics_help(const struct record_options *options);
/* The names after --metrics, as options->metrics.counters. ERR_INVALID, or ERR_SYS if it has none.
 */
int record_metrics_parse(struct record_options *options, struct err *err);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_REPORT_SPANS_H
#define PROFC_CMD_REPORT_SPANS_H

#include <stdbool.h>

struct view_options;

/* `report --spans`: print the timed calls of a profile. Returns the exit status. */
int report_spans(const char *input, const struct view_options *options, bool json);

#endif

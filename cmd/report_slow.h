/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_REPORT_SLOW_H
#define PROFC_CMD_REPORT_SLOW_H

#include <stdbool.h>
#include <stdint.h>

struct command;
struct filter_options;
struct view_options;

/*
 * `report --slow`: print what slow calls do differently, with at most `limit` rows of each kind, or
 * all if it is 0. Returns the exit status.
 */
int report_slow(const struct command *self, const char *input, const struct filter_options *filter,
		const struct view_options *options, uint64_t limit, bool json);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_REPORT_WAKERS_H
#define PROFC_CMD_REPORT_WAKERS_H

#include <stdbool.h>
#include <stdint.h>

struct command;
struct filter_options;
struct view_options;

/* `report --wakers`: print blocked time by what ended it. Returns the exit status. */
int report_wakers(const struct command *self, const char *input,
		  const struct filter_options *filter, const struct view_options *options,
		  uint64_t limit, bool json);

#endif

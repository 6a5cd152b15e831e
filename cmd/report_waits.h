/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_REPORT_WAITS_H
#define PROFC_CMD_REPORT_WAITS_H

#include <stdbool.h>
#include <stdint.h>

struct command;
struct filter_options;
struct view_options;

enum report_of_waits {
	REPORT_WAKERS, /* `report --wakers`: blocked time by what ended it */
	REPORT_CHAIN,  /* `report --chain`: elapsed time through what was waited for */
};

/* Print it. Returns the exit status. */
int report_waits(const struct command *self, const char *input, const struct filter_options *filter,
		 const struct view_options *options, enum report_of_waits what, uint64_t limit,
		 bool json);

#endif

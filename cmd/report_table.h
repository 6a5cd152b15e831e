/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_REPORT_TABLE_H
#define PROFC_CMD_REPORT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct command;
struct filter_options;
struct view_options;

/* Reports that are tables of their own. */
enum report_table {
	REPORT_WAKERS, /* --wakers: blocked time by what ended it */
	REPORT_CHAIN,  /* --chain: elapsed time through what was waited for */
	REPORT_SLOW,   /* --slow alone: how slow calls of a function differ from the others */
};

/* Print one, with at most `limit` rows, of each kind; 0: all. Returns the exit status. */
int report_table(const struct command *self, const char *input, const struct filter_options *filter,
		 const struct view_options *options, enum report_table table, uint64_t limit,
		 bool json);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_BROWSER_H
#define PROFC_CMD_BROWSER_H

#include <stdbool.h>

struct browse;
struct err;
struct view_options;

/* Can a browser be run? Only where standard input and output are a terminal that can do more. */
bool browser_is_possible(void);

/*
 * Show it on the terminal, and take keys, until the user quits. The terminal is as before when this
 * returns, and when a signal ends profc instead. Fails where terminfo does not know the terminal:
 * then nothing has been shown.
 */
int browser_run(struct browse *browse, const struct view_options *options, struct err *err);

#endif

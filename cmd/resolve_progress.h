/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resolves symbols with progress on the terminal. */
#ifndef PROFC_CMD_RESOLVE_PROGRESS_H
#define PROFC_CMD_RESOLVE_PROGRESS_H

#include <stdbool.h>

struct profile;
struct symbol_options;

/*
 * resolve_profile() with progress on standard error, if that is `shown` and a
 * terminal; the line is cleared afterwards.
 */
void resolve_with_progress(struct profile *profile, const struct symbol_options *options,
			   bool shown);

#endif

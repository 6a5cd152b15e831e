/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_RESOLVE_PROGRESS_H
#define PROFC_CMD_RESOLVE_PROGRESS_H

#include <stdbool.h>

struct profile;
struct symbol_options;

/*
 * resolve_profile(), telling on standard error how far it is if that is `shown`
 * and a terminal; the line is gone afterwards.
 */
void resolve_with_progress(struct profile *profile, const struct symbol_options *options,
			   bool shown);

#endif

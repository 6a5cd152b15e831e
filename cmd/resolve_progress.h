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

/*
 * The same, ended early by a terminating signal that can be read from `signal_fd`: symbols not
 * resolved by then are missing. Returns whether that happened. SIGUSR1 and SIGUSR2 are read
 * and without effect.
 */
bool resolve_until_signal(struct profile *profile, const struct symbol_options *options, bool shown,
			  int signal_fd);

#endif

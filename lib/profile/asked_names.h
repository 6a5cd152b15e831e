/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows functions that share their code by the names that a user asks for. */
#ifndef PROFC_PROFILE_ASKED_NAMES_H
#define PROFC_PROFILE_ASKED_NAMES_H

#include <stdbool.h>

struct profile;

/*
 * Functions that have the same code are shown by the name of one of them. If the user asks for
 * another one, exchange the names. `is_asked` decides about a name. Call this before the profile is
 * expanded.
 */
void profile_show_asked(struct profile *profile,
			bool (*is_asked)(const void *context, const char *name),
			const void *context);

#endif

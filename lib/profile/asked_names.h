/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows functions that share their code by the names that a user asks for. */
#ifndef PROFC_PROFILE_ASKED_NAMES_H
#define PROFC_PROFILE_ASKED_NAMES_H

#include <stdbool.h>

struct profile;

/*
 * Of several functions that have the same code one gives its name to all. Where that is not asked
 * for, and another is, let that be the name, and the former one of the others. Call this before the
 * profile is expanded.
 */
void profile_show_asked(struct profile *profile,
			bool (*is_asked)(const void *context, const char *name),
			const void *context);

#endif

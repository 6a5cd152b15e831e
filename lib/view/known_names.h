/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names the threads and processes of a profile, where filters asked for others. */
#ifndef PROFC_VIEW_KNOWN_NAMES_H
#define PROFC_VIEW_KNOWN_NAMES_H

#include <stdbool.h>

struct err;
struct profile;
struct selection;

/* Set the hint of *err to the names of its threads, the first few; nothing if there is none. */
void known_threads_hint(struct err *err, const struct profile *profile);
/* Likewise of the threads, or processes, if the filters match none of them. False: they do. */
bool known_names_hint(struct err *err, const struct selection *selection);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long calls took. */
#ifndef PROFC_VIEW_SPANS_TEXT_H
#define PROFC_VIEW_SPANS_TEXT_H

#include "view/style.h"

struct profile;
struct sink;

/*
 * A row for each function and process of which calls were timed, by their total: how many, how long
 * they took in the mean and by percentiles, and the longest. If there is one, its lengths; then how
 * many calls had no end. The profile has some.
 */
void spans_print_text(const struct profile *profile, const struct view *view, struct sink *sink);
/* JSON of all this, with the number of calls of each length. */
void spans_print_json(const struct profile *profile, struct sink *sink);

#endif

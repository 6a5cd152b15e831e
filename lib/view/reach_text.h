/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_REACH_TEXT_H
#define PROFC_VIEW_REACH_TEXT_H

#include <stdbool.h>

#include "view/style.h"

struct buf;
struct json;
struct leak;
struct leaks;
struct profile;
struct sink;

/* What was found by looking for pointers to blocks that were not freed. */

/* Lines below the heading of leaks: how much is lost, what was searched and what was not. */
void reach_print_heading(const struct leaks *leaks, const struct view *view, struct sink *sink);
/* "; all of it lost": of the blocks of one stack, behind how much there is of them. */
void reach_append_leak(struct buf *out, const struct leak *leak);
/* The members of the whole, or of the blocks of one stack. */
void reach_write(struct json *json, const struct leaks *leaks);
void reach_write_leak(struct json *json, const struct leak *leak);

/*
 * "12.1 MiB in 1 process, which stood still for 3.20 ms": of all processes that were searched;
 * false if none was. Processes that are not in `chosen`, by row, are left out; NULL: none.
 */
bool reach_append_searched(struct buf *out, const struct profile *profile, const bool *chosen);
/* Those with blocks that were not freed and not searched, with the reason. */
void reach_print_not_searched(const struct profile *profile, const bool *chosen,
			      const struct view *view, struct sink *sink);
/* An object for `info`; null if nobody asked for a search. */
void reach_write_searches(struct json *json, const struct profile *profile, const bool *chosen);

#endif

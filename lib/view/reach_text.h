/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_REACH_TEXT_H
#define PROFC_VIEW_REACH_TEXT_H

#include <stdbool.h>
#include <stdint.h>

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

/* Which searches: those of the end, or of a mark at this moment; or of some processes only. */
struct reach_scope {
	uint64_t at_ns;	    /* HEAP_AT_END: in the end */
	const bool *chosen; /* processes, by row; NULL: all */
};

/* "12.1 MiB of one process, which stood still for 3.20 ms" */
void reach_append_stop(struct buf *out, uint64_t nr_processes, uint64_t nr_bytes,
		       uint64_t stop_ns_max);
/* The same of all processes that were searched; false if none was. */
bool reach_append_searched(struct buf *out, const struct profile *profile,
			   const struct reach_scope *scope);
/* Those with blocks that were not freed and not searched, with the reason. */
void reach_print_not_searched(const struct profile *profile, const struct reach_scope *scope,
			      const struct view *view, struct sink *sink);
/* Were processes searched then, or could not be? As of struct reach_scope. */
bool reach_is_searched(const struct profile *profile, uint64_t at_ns);
/* An object for `info`; null if nobody has searched then. */
void reach_write_searches(struct json *json, const struct profile *profile,
			  const struct reach_scope *scope);

#endif

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

/* Results of the search for pointers to blocks that were not freed. */

/*
 * Lines below the heading of leaks: the lost amount, and the processes searched and not searched.
 */
void reach_print_heading(const struct leaks *leaks, const struct view *view, struct sink *sink);
/* "; all of it lost": follows the amount of the blocks of one stack. */
void reach_append_leak(struct buf *out, const struct leak *leak);
/* The members of the whole, or of the blocks of one stack. */
void reach_write(struct json *json, const struct leaks *leaks);
void reach_write_leak(struct json *json, const struct leak *leak);

/*
 * The searches to report: those at the end, or at a mark at this moment; or of some processes only.
 */
struct reach_scope {
	uint64_t at_ns;	    /* HEAP_AT_END: at the end */
	const bool *chosen; /* processes, by row; NULL: all */
};

/* "12.1 MiB of one process, which was stopped for 3.20 ms" */
void reach_append_stop(struct buf *out, uint64_t nr_processes, uint64_t nr_bytes,
		       uint64_t stop_ns_max);
/* As above, for all processes that were searched; false if there were none. */
bool reach_append_searched(struct buf *out, const struct profile *profile,
			   const struct reach_scope *scope);
/* Processes with blocks that were neither freed nor searched for, and the reason. */
void reach_print_not_searched(const struct profile *profile, const struct reach_scope *scope,
			      const struct view *view, struct sink *sink);
/* Was any process searched at that moment, or refused? at_ns as in struct reach_scope. */
bool reach_is_searched(const struct profile *profile, uint64_t at_ns);
/* An object for `info`; null if no process was searched at that moment. */
void reach_write_searches(struct json *json, const struct profile *profile,
			  const struct reach_scope *scope);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_COUNTS_H
#define PROFC_CALLTREE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"

struct count_moment;
struct err;
struct profile_count;
struct selection;

/*
 * The exact counts of a profile by named code: functions, calls between them, lines.
 *
 * Counts are those of whole processes and of the whole time that they were counted. A selection of
 * processes also selects counts; a selection of functions leaves those of the functions it names.
 * Counts cannot be divided by threads, times or modules: with such a selection none is known.
 */

#define COUNTS_NO_LABEL UINT32_MAX

enum counts_state {
	COUNTS_NONE,	 /* nothing was counted */
	COUNTS_FILTERED, /* there are counts, but they are not of the selected samples */
	COUNTS_KNOWN,
};

/* Calls of a function as it lies in memory: inlined copies are never called. */
struct count_function {
	bool counted;	    /* else its calls were not counted, and no more is known */
	bool has_tail_call; /* it is not in the stack of what it calls so */
	uint64_t calls;
};

/* Calls written in one function, including its inlined copies. */
struct count_edge {
	uint32_t caller, callee; /* labels; callee COUNTS_NO_LABEL: not known */
	uint64_t calls;
};

struct count_line {
	struct str_id file;
	uint32_t line;
	bool has_calls, has_entries;
	uint64_t calls;	  /* written on this line */
	uint64_t entries; /* of the function that is defined there */
};

/*
 * The time in which the calls of one function, or those written on one line, were counted in a
 * process and its forked children. The key is a label, or from counts_line_key().
 */
struct count_window {
	uint32_t process, key;
	uint64_t from_ns, to_ns;
};

struct counts {
	const struct selection *selection; /* borrowed */
	enum counts_state state;	   /* except with COUNTS_KNOWN, the tables are empty */
	struct count_function *functions;  /* by label, or NULL */
	struct count_edge *edges;	   /* by (caller, callee) */
	size_t nr_edges;
	struct count_line *lines; /* by (file, line) */
	size_t nr_lines;
	struct count_window *windows; /* by (process, key) */
	size_t nr_windows;
	/* by process: the process that counts its calls, or PROCESS_NONE */
	uint32_t *owners;
	bool *whole; /* by process: its counts are of selected processes alone; or NULL */
};

/* Never NULL, whether or not anything was counted. */
struct counts *counts_new(const struct selection *selection);
/* The counts since a moment, for a selection of times up to the end. */
struct counts *counts_new_since(const struct selection *selection,
				const struct count_moment *since);
void counts_free(struct counts *counts);

/* 0 if they are known, or ERR_NOT_FOUND with the reason. */
int counts_require(const struct counts *counts, struct err *err);

/* Are there any counts? A selection of functions may leave none that was counted. */
bool counts_are_any(const struct counts *counts);
/* Does this row of the profile pass the selection, so that its calls are in the tables? */
bool counts_have(const struct counts *counts, const struct profile_count *row);
/* The calls of a function; false, with *calls unchanged, if they were not counted. */
bool counts_find_function(const struct counts *counts, uint32_t label, uint64_t *calls);
/* The calls from one function to another, or to unknown ones: COUNTS_NO_LABEL. */
bool counts_find_edge(const struct counts *counts, uint32_t caller, uint32_t callee,
		      uint64_t *calls);
/* The first edge of a caller in counts->edges; if it has none, any index. */
size_t counts_first_edge(const struct counts *counts, uint32_t caller);
/* The row of a line, or NULL if nothing was counted there. */
const struct count_line *counts_find_line(const struct counts *counts, struct str_id file,
					  uint32_t line);
/* The key of the calls written on a line; these follow the keys of functions, their labels. */
uint32_t counts_line_key(const struct counts *counts, const struct count_line *line);
/* One more than the largest key. */
uint32_t counts_nr_keys(const struct counts *counts);
/*
 * Set *from_ns and *to_ns to the time in which the calls of a key by `process` were counted; false
 * if never. A forked process counts with its parent.
 */
bool counts_find_window(const struct counts *counts, uint32_t process, uint32_t key,
			uint64_t *from_ns, uint64_t *to_ns);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flat tables: one row per function, line, file, module, thread or the like. */
#ifndef PROFC_CALLTREE_FLAT_H
#define PROFC_CALLTREE_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "calltree/expand.h"
#include "calltree/tally.h"

struct buf;
struct err;
struct per_call;
struct weights;

/* What a row of a flat table stands for. */
enum dimension {
	BY_FUNCTION, /* a label */
	BY_LINE,     /* a (function, file, line) */
	BY_FILE,     /* a source file; code without one is grouped by module */
	BY_MODULE,
	BY_THREAD,
	BY_PROCESS,
	BY_STATE,	/* how the time passed: running, waiting for a CPU, blocked */
	BY_SYSCALL,	/* the system call it was blocked in, or that the kernel worked on */
	BY_LIFETIME,	/* of memory: how long blocks lived */
	BY_SOURCE_LINE, /* a (file, line), whichever functions stand there: annotated source */
	BY_INLINE_SITE, /* a (function, file, line): what was inlined at a line; total only */
};

/* Their names, NULL-ended and in their order, but for the last ones, which are for annotate alone.
 */
extern const char *const dimension_names[];

/* Can a metric be divided by it? Memory has no state and no system call, time no lifetime. */
bool dimension_divides(enum dimension dimension, enum metric metric);

enum flat_state {
	STATE_RUNNING,
	STATE_RUNNABLE,
	STATE_BLOCKED,
	STATE_UNATTRIBUTED,
	STATE_COUNT,
};

const char *flat_state_name(enum flat_state state);

#define FLAT_NONE UINT32_MAX

#define FLAT_SYSCALL_UNATTRIBUTED (-2)
#define FLAT_SYSCALL_NOT_KNOWN	  (-3) /* it ran; older recordings do not have the system call */

/*
 * One row. Of the identifying members those of the table's dimension are set;
 * the others are FLAT_NONE, STR_EMPTY or 0. A label other than a function's (as
 * [unattributed]) makes a row of its own in every dimension of code.
 *
 * self counts samples whose innermost level is the row's; total those with the
 * row anywhere in their stack, each sample once, however deep the recursion. In
 * dimensions that are no part of the stack both are equal.
 */
struct flat_row {
	uint32_t label;
	struct str_id file;
	uint32_t line;
	uint32_t module, thread, process; /* ids */
	uint32_t state;			  /* enum flat_state */
	uint32_t lifetime;		  /* enum lifetime */
	int32_t syscall_nr;		  /* -1: in none; or one of the above */
	bool inlined;			  /* every copy of it that was seen had been inlined */
	/*
	 * Of METRIC_BLOCKED, BY_FUNCTION, BY_LINE and BY_SYSCALL: the label of the wait function
	 * (wait_function.h) that most of self is of, or FLAT_NONE; and how many others there are.
	 */
	uint32_t wait_function;
	uint32_t nr_other_waits;
	struct tally self, total;
	struct tally cpu;    /* BY_SYSCALL: whatever the metric */
	bool counted;	     /* BY_FUNCTION: its calls were */
	uint64_t calls;	     /* of those; 0 is a fact, too */
	struct tally called; /* of the total, what is below its counted calls */
};

struct flat {
	const struct weights *weights; /* borrowed */
	enum dimension dimension;
	struct flat_row *rows; /* owned; only those with some weight, CPU time or a count */
	size_t nr, cap;
	bool by_self; /* so sorted: rows without any self are behind all that have some */
};

/* The rows, sorted by self, then total, then name; lifetimes from the shortest on. */
struct flat *flat_new(const struct weights *weights, enum dimension dimension);
void flat_free(struct flat *flat);

/* The expansion the rows' labels belong to. Borrowed. */
const struct expansion *flat_expansion(const struct flat *flat);

/*
 * Where the CPU time of a thread's or a process' row went; false where that is not known, or not
 * of what the filters left of it.
 */
bool flat_row_split(const struct flat *flat, const struct flat_row *row, struct cpu_split *split);

/* Are there counts of what the rows are? Those of lines are no sums over functions. */
bool flat_has_counts(const struct flat *flat);
/* Do the rows have wait functions? */
bool flat_has_waits(const struct flat *flat);
/* False where no call was counted. */
bool flat_row_per_call(const struct flat *flat, const struct flat_row *row,
		       struct per_call *per_call);

/* Append the row's name: function, file:line, path, thread … Raw target text. */
void flat_append_name(struct buf *out, const struct flat *flat, const struct flat_row *row,
		      enum name_style style);
/* Append "file:line", as much as is known, of the row's code; nothing if nothing is. */
void flat_append_location(struct buf *out, const struct flat *flat, const struct flat_row *row);

/*
 * Sort by a comma list of keys (self, total, samples, calls, per-call, name, function, line,
 * module), the most important first. Amounts sort downwards, texts upwards; equal rows keep the
 * standard order. ERR_INVALID names the unknown key; ERR_NOT_FOUND says that there are no counts
 * to sort by.
 */
int flat_sort(struct flat *flat, const char *keys, struct err *err);

#endif

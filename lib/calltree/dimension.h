/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_DIMENSION_H
#define PROFC_CALLTREE_DIMENSION_H

#include <stdbool.h>
#include <stdint.h>

#include "calltree/expand.h"
#include "profile/metric.h"

struct buf;
struct flat;
struct flat_division;
struct flat_row;
struct observation;

/* Each row of a flat table is one of these: */
enum dimension {
	BY_FUNCTION, /* a label */
	BY_LINE,     /* a (function, file, line) */
	BY_SCRIPT,   /* a function of a script, with the native code that it called */
	BY_FILE,     /* a source file; code without one is grouped by module */
	BY_MODULE,
	BY_THREAD,
	BY_PROCESS,	/* a program: all processes of one name */
	BY_PID,		/* a process */
	BY_STATE,	/* how the time passed: running, waiting for a CPU, blocked */
	BY_SYSCALL,	/* the system call it was blocked in, or that the kernel worked on */
	BY_LOCK,	/* what it was blocked on in memory: see blame.h */
	BY_FD,		/* the descriptor that it was blocked on */
	BY_LIFETIME,	/* of memory: how long blocks lived */
	BY_MARK,	/* a phase: from one mark of the recording to the next */
	BY_PARALLELISM, /* how many threads ran at once */
	BY_LABEL,	/* the value of a label: of one key, which is named with it */
	BY_SOURCE_LINE, /* a (file, line), whichever functions stand there: annotated source */
	BY_INLINE_SITE, /* a (function, file, line): what was inlined at a line; total only */
};

#define DIMENSION_COUNT (BY_INLINE_SITE + 1)

/*
 * Sets of dimensions have a bit for each. Those with a function as a whole in each row; all with
 * functions; and all of code:
 */
#define DIMENSION_BIT(dimension)      (1u << (dimension))
#define DIMENSIONS_OF_WHOLE_FUNCTIONS (DIMENSION_BIT(BY_FUNCTION) | DIMENSION_BIT(BY_SCRIPT))
#define DIMENSIONS_OF_FUNCTIONS	      (DIMENSIONS_OF_WHOLE_FUNCTIONS | DIMENSION_BIT(BY_LINE))
#define DIMENSIONS_OF_CODE                                                                         \
	(DIMENSIONS_OF_FUNCTIONS | DIMENSION_BIT(BY_FILE) | DIMENSION_BIT(BY_MODULE) |             \
	 DIMENSION_BIT(BY_SOURCE_LINE))

/* The dimensions that divide time and memory, as help texts list them. */
#define DIMENSION_HELP                                                                             \
	"one row per function, line, script function, file, module, thread, process (all of one "  \
	"name), pid, "                                                                             \
	"state, "                                                                                  \
	"syscall, lock, fd"

enum dimension_kind {
	DIMENSION_OF_FUNCTIONS, /* code with a label: levels of stacks */
	DIMENSION_OF_PLACES,	/* code without: files and modules */
	DIMENSION_OF_TASKS,	/* threads and processes */
	DIMENSION_OF_WAITS,	/* the objects that threads wait for: alone, never with another */
	DIMENSION_OF_FACTS,	/* other facts of a sample or a block */
};

/* The metrics that a dimension can divide. */
enum dimension_metrics {
	DIMENSION_DIVIDES_ALL,
	DIMENSION_DIVIDES_TIME, /* and samples */
	DIMENSION_DIVIDES_MEMORY,
	DIMENSION_DIVIDES_ELAPSED,
};

/*
 * Everything about a dimension. The functions are called only while a table is made or shown; those
 * that do not belong to the kind are NULL.
 */
struct dimension_info {
	const char *heading; /* above the names of the rows */
	/* The same where it divides the rows of another dimension; NULL: as there. */
	const char *second_heading;
	enum dimension_kind kind;
	enum dimension_metrics divides;
	enum metric metric; /* what tables by it show unless another one is chosen */
	/*
	 * A bit for each dimension of which a row of this one has only one value: it could not
	 * divide the row.
	 */
	unsigned int implies;
	unsigned int times; /* enum metric_parts: what rows have whatever the metric of time */
	bool is_path;	    /* names are cut at their start */
	bool is_in_order;   /* rows are sorted by their number, whatever their weight */
	bool has_waits;	    /* rows have wait functions (wait_function.h) */
	bool needs_marks;   /* recordings without marks have none */
	bool needs_line;    /* code has no row where its line is not known */
	bool needs_scripts; /* recordings without functions of scripts have none */
	/* Code without a row: its time belongs to the nearest caller that has one. */
	bool charges_callers;

	/* For code: set the members of a row that the level has; false if it has no row. */
	bool (*of_level)(const struct expansion *expansion, const struct level *level,
			 struct flat_row *key);
	/* For the others: set *fact, or other members of the row, for an observation; */
	void (*of_observation)(struct flat_division *division,
			       const struct observation *observation, struct flat_row *key,
			       uint32_t *fact);
	/* or, where it may have several, for each of its parts, and call flat_divide() with it. */
	void (*divide)(struct flat_division *division, const struct observation *observation,
		       struct flat_row *key, uint32_t *fact);
	/* Append the row's name: raw text of the target. */
	void (*append_name)(struct buf *out, const struct flat *flat, const struct flat_row *row,
			    enum name_style style);
};

extern const struct dimension_info dimensions[DIMENSION_COUNT];

static inline const struct dimension_info *dimension_info(enum dimension dimension)
{
	return &dimensions[dimension];
}

/* Is it of a key, which a table has to name? */
static inline bool dimension_needs_key(enum dimension dimension)
{
	return dimension == BY_LABEL;
}

/* The names of those that can be chosen, in their order, NULL-ended. */
extern const char *const dimension_names[];
/* The names of those that a running program has: it has no marks. */
extern const char *const dimension_names_live[];

/* Are its rows levels of stacks? Rows of the others are facts of samples and blocks. */
static inline bool dimension_is_code(enum dimension dimension)
{
	return dimension_info(dimension)->kind <= DIMENSION_OF_PLACES;
}

/* Are its rows objects that threads wait for? */
static inline bool dimension_is_of_waits(enum dimension dimension)
{
	return dimension_info(dimension)->kind == DIMENSION_OF_WAITS;
}

/* Can the metric be divided by it? */
bool dimension_divides(enum dimension dimension, enum metric metric);

#endif

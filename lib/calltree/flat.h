/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flat tables: one row per function, line, file, module, thread or the like. */
#ifndef PROFC_CALLTREE_FLAT_H
#define PROFC_CALLTREE_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "calltree/dimension.h"
#include "calltree/expand.h"
#include "calltree/tally.h"
#include "profile/labels.h"

struct blame;
struct buf;
struct flat_walls;
struct err;
struct per_call;
struct phase;
struct phases;
struct weights;

/*
 * What the rows of a table are: of one dimension, or of what two have in common, as functions of a
 * thread. With one both are equal.
 */
struct flat_keys {
	enum dimension first, second;
	struct label_key label; /* of BY_LABEL */
};

/*
 * "thread", or "thread,function"; labels are "label:KEY", borrowed. ERR_INVALID where
 * there is no such dimension, where the first says all that the second would, and of what is waited
 * for, which stands alone.
 */
int flat_keys_parse(const char *text, struct flat_keys *keys, struct err *err);
/* ERR_INVALID if the metric cannot be divided so. */
int flat_keys_check(const struct flat_keys *keys, enum metric metric, struct err *err);
/* The metric of a table by these keys, unless the user chooses another one. */
enum metric flat_keys_metric(const struct flat_keys *keys);
/* ERR_NOT_FOUND if the profile does not have what they are about: marks, waits, labels. */
int flat_keys_find(const struct flat_keys *keys, const struct profile *profile, struct err *err);

enum flat_state {
	STATE_RUNNING,
	STATE_RUNNABLE,
	STATE_BLOCKED,
	STATE_UNATTRIBUTED,
	STATE_COUNT,
};

const char *flat_state_name(enum flat_state state);

#define FLAT_NONE   UINT32_MAX
#define FLAT_NR_IDS 9

/* SAMPLE_PAGE_FAULT is one, too. */
#define FLAT_SYSCALL_UNATTRIBUTED (-3)
#define FLAT_SYSCALL_NOT_KNOWN	  (-4) /* it ran; older recordings do not have the system call */

/* The processes of a row of BY_PROCESS that have some weight. */
struct flat_program {
	uint64_t nr;
	uint32_t heaviest; /* one of them */
	bool one_command;  /* all of them have this one's */
};

/* The times of the samples of a row. */
struct flat_times {
	uint64_t cpu_ns, runq_ns, blocked_ns;
};

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
	union {
		struct {
			uint32_t label;
			struct str_id file;
			uint32_t line;
			uint32_t module, thread, process; /* ids */
			uint32_t object;		  /* number of flat.blame */
			/*
			 * By key, first and second, if it is DIMENSION_OF_FACTS: the number that
			 * of_observation() or divide() of the dimension has set.
			 */
			uint32_t facts[2];
		};
		uint32_t ids[FLAT_NR_IDS]; /* the same */
	};
	bool inlined; /* every copy of it that was seen had been inlined */
	/*
	 * With METRIC_BLOCKED, BY_FUNCTION, BY_LINE and BY_SYSCALL: the label of the wait function
	 * (wait_function.h) that has most of self, or FLAT_NONE; and the number of others.
	 */
	uint32_t wait_function;
	uint32_t nr_other_waits;
	struct tally self, total;
	struct flat_times times;     /* those that the dimension has, whatever the metric */
	struct flat_program program; /* BY_PROCESS */
	uint32_t group;		     /* with two keys: its row of flat.groups */
	bool counted;		     /* BY_FUNCTION: its calls were */
	uint64_t calls;		     /* of those; 0 is a fact, too */
	struct tally called;	     /* of the total, what is below its counted calls */
};

/* The functions that threads began with. */
struct flat_starts {
	uint32_t *labels;   /* by thread: WAIT_FUNCTION_NONE if it is not known; owned */
	bool *has_namesake; /* by thread: another one of its process has its name; owned */
};

/* The labels of a table by them. */
struct flat_label {
	struct str_id key;
	uint32_t *values; /* profile_labels_values(); owned; NULL if no key is BY_LABEL */
};

struct flat {
	const struct weights *weights;	  /* borrowed */
	enum dimension dimension, second; /* equal: there is one key */
	struct flat_row *rows; /* owned; only those with some weight, CPU time or a count */
	size_t nr, cap;
	size_t nr_left_out;    /* rows beyond the limit of their groups */
	bool by_self;	       /* so sorted: rows without any self are behind all that have some */
	struct phases *phases; /* owned; NULL if no key is BY_MARK */
	struct flat_label label;
	/*
	 * With two keys the table by the first one, whose rows are groups of these: they stand here
	 * in the order of their groups. NULL with one.
	 */
	struct flat *groups;
	struct blame *blame; /* BY_LOCK, BY_FD; owned */
	/*
	 * By thread, process or phase, where instructions are the metric and both were recorded of
	 * all code; owned; else NULL.
	 */
	uint64_t *cycles;
	struct flat_starts *starts; /* BY_THREAD alone; owned; else NULL */
	struct cpu_split *splits;   /* BY_PROCESS alone: of each program, by its first process */
	struct flat_walls *walls; /* wall times of calls that block; owned; NULL: none are known */
};

/* The rows, sorted by self, then total, then name; lifetimes and phases from the first on. */
struct flat *flat_new(const struct weights *weights, enum dimension dimension);
/* The same by one key or two, which were checked. */
struct flat *flat_new_by(const struct weights *weights, const struct flat_keys *keys);

/* How a table is to be shown: what is not asked for need not be kept. */
struct flat_request {
	struct flat_keys keys; /* checked */
	const char *sort;      /* keys of flat_sort(), borrowed; NULL: none */
	/*
	 * With two keys of which one is of code, no more than the first so many rows of each group:
	 * hundreds of threads have millions of functions. 0: all.
	 */
	size_t limit;
};

/* Fails as flat_sort() does. */
int flat_new_as(const struct weights *weights, const struct flat_request *request,
		struct flat **result, struct err *err);
void flat_free(struct flat *flat);

/* The expansion the rows' labels belong to. Borrowed. */
const struct expansion *flat_expansion(const struct flat *flat);

bool flat_has_two_keys(const struct flat *flat);
bool flat_has_key(const struct flat *flat, enum dimension dimension);
/* Is each row a function, or a part of one that is no line of it? */
bool flat_is_of_functions(const struct flat *flat);

/* The number that a row has in one of its keys, which is DIMENSION_OF_FACTS. */
uint32_t flat_row_fact(const struct flat *flat, const struct flat_row *row,
		       enum dimension dimension);
/* The phase of a row. Borrowed. */
const struct phase *flat_row_phase(const struct flat *flat, const struct flat_row *row);

/*
 * Do the rows have user and system times from samples, as rows of code do? Each is an estimate,
 * with tally_system_error(); together they are the kernel's.
 */
bool flat_has_modes(const struct flat *flat);

/*
 * The user and system time of a row of a thread, a process or code; false if it is not known, or
 * not known of the part that filters left.
 */
bool flat_row_split(const struct flat *flat, const struct flat_row *row, struct cpu_split *split);

/* Are there counts of what the rows are? Those of lines are no sums over functions. */
bool flat_has_counts(const struct flat *flat);
/* Do the rows have wait functions? */
bool flat_has_waits(const struct flat *flat);

/* False where that is not known, and of phases that are too short. */
bool flat_row_per_cycle(const struct flat *flat, const struct flat_row *row, double *instructions);

/*
 * False where no call was counted, and where a function ends in calls of others by jumps and was
 * not sampled.
 */
bool flat_row_per_call(const struct flat *flat, const struct flat_row *row,
		       struct per_call *per_call);
/*
 * The wall time of a call of a function that blocks in its calls, in a table of CPU time; false:
 * the function does not block.
 */
bool flat_row_wall_per_call(const struct flat *flat, const struct flat_row *row,
			    struct per_call *per_call);

/* Append the row's name: function, file:line, path, thread … Raw target text. Of its last key. */
void flat_append_name(struct buf *out, const struct flat *flat, const struct flat_row *row,
		      enum name_style style);
/*
 * In a table of threads, append the function that the thread began with, "worker". With `is_alike`,
 * " (worker, threadpool.c:57)", and only if other threads of its process have its name.
 */
void flat_append_start(struct buf *out, const struct flat *flat, const struct flat_row *row,
		       enum name_style style, bool is_alike);
/* The same of one of its keys. */
void flat_append_key(struct buf *out, const struct flat *flat, const struct flat_row *row,
		     enum dimension dimension, enum name_style style);
/* Append "file:line", as much as is known, of the row's code; nothing if nothing is. */
void flat_append_location(struct buf *out, const struct flat *flat, const struct flat_row *row);
/*
 * Append "read_request +2": what of the program waits in the row's code, and two others.
 * Nothing where the row is that of the function itself, or nothing waits there.
 */
void flat_append_wait(struct buf *out, const struct flat *flat, const struct flat_row *row,
		      enum name_style style);

/*
 * Sort by a comma list of keys (self, total, samples, calls, per-call, name, function, line,
 * module), the most important first. Amounts sort downwards, texts upwards; equal rows keep the
 * standard order. ERR_INVALID names the unknown key; ERR_NOT_FOUND says that there are no counts
 * to sort by.
 */
int flat_sort(struct flat *flat, const char *keys, struct err *err);

#endif

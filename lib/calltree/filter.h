/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_FILTER_H
#define PROFC_CALLTREE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct elapsed;
struct err;
struct expansion;
struct reshaped;
struct slow_calls;
struct timelines;

/*
 * The samples that a view or an export includes. Every pattern list is an "any of"; lists of
 * different kinds must all match; an empty list matches everything. A pattern of digits alone is an
 * id (tid, pid), anything else a POSIX extended regular expression searched for in the name.
 */
struct pattern_list {
	const char *const *texts; /* borrowed */
	size_t nr;
};

/* The text of a mark of the recording; 0 bytes: none. */
struct mark_name {
	const char *text; /* borrowed */
	size_t nr_bytes;
};

/* The moment of METRIC_LIVE; and the lives that are short for METRIC_TEMPORARY. */
enum filter_at {
	FILTER_AT_END,
	FILTER_AT_TIME,
	FILTER_AT_PEAK,
	FILTER_AT_MARK, /* the first of that text */
};

#define TEMPORARY_DEFAULT_NS UINT64_C(10000000)

struct heap_filter {
	enum filter_at at;
	uint64_t at_ns;
	struct mark_name at_mark;
	uint64_t temporary_ns; /* 0: the default */
};

/* So many threads run at once. */
struct parallelism_range {
	bool is_given;
	uint32_t from, to; /* UINT32_MAX: any more */
};

/* Functions by name: those that stacks begin with, and those left out of stacks. */
struct shape_filter {
	struct pattern_list focus; /* stacks with such a function, from the outermost one on */
	struct pattern_list hide;  /* its time is that of its caller */
};

/* Which samples in calls of a function: those in slow ones, the others, or all. */
enum filter_calls { FILTER_SLOW_CALLS, FILTER_OTHER_CALLS, FILTER_ALL_CALLS };

struct slow_filter {
	const char *text; /* as slow_calls_new() takes it, borrowed; NULL: not asked for */
	enum filter_calls which;
};

struct filter {
	struct pattern_list threads;   /* tid, or name of the thread */
	struct pattern_list processes; /* pid, or name or command of the process */
	struct pattern_list modules;   /* path of the module the sample's own code is in */
	struct pattern_list functions; /* name of a function anywhere in the stack */
	struct pattern_list labels;    /* "KEY=VALUE", or "KEY": any value; no expressions */
	struct shape_filter shape;     /* the other patterns see the stacks that it leaves */
	uint64_t from_ns, to_ns;       /* of the recording's clock; to_ns 0: to the end */
	/*
	 * In place of these times: the first mark of that text, and the first of its text after
	 * that.
	 */
	struct mark_name from_mark, to_mark;
	/* Each of the times may count back from the trigger of a flight recorder's file. */
	bool from_before_trigger, to_before_trigger;
	struct heap_filter heap;
	struct parallelism_range parallelism; /* for METRIC_ELAPSED */
	struct slow_filter slow;
};

/* The heap filter of a selection, resolved. */
struct selected_heap {
	uint64_t at_ns; /* or HEAP_AT_END */
	bool at_peak;
	uint64_t temporary_ns;
};

/* The filter of slow calls of a selection. */
struct selected_slow {
	struct slow_calls *calls; /* owned; NULL: there is none */
	bool *stacks; /* owned: by stack_id of the original, those in the function; NULL: no others
		       */
	enum filter_calls which;
};

/* Nothing if it ends before it begins. */
struct time_range {
	uint64_t from_ns, to_ns; /* to_ns UINT64_MAX: to the end */
};

/* The filter applied to a profile: tables by id, so that lookups are cheap. */
struct selection {
	/*
	 * Has the samples' stacks: borrowed; but with a focus or hidden functions it is that of
	 * `reshaped`, which is owned. Labels and places are the same in both.
	 */
	const struct expansion *expansion;
	const struct expansion *original; /* borrowed: the unfiltered one */
	struct reshaped *reshaped;
	bool hides_nothing; /* no function has a name that is to be hidden */
	bool *threads;	    /* by thread_id */
	bool *processes;    /* by row of profile.processes */
	bool *stacks;	    /* by stack_id; the empty stack is that of samples without one */
	bool *labels;	    /* by sample.labels; NULL: whatever the labels */
	bool everything;    /* no filter was given */
	bool all_stacks;    /* no filter of modules or functions, and no other shape of stacks */
	bool whole_lives; /* filters of threads and processes only, which are selected as wholes */
	/* filters of processes, functions and times only; stacks are not reshaped */
	bool whole_processes;
	/* by label: selected by a filter of functions; NULL: there is none */
	bool *functions;
	uint64_t from_ns, to_ns; /* of blocks: when they were allocated; over all runs */
	/*
	 * The selected range of each run, by timeline: merged runs have marks at different times.
	 * Owned, as the next.
	 */
	struct time_range *ranges;
	struct timelines *timelines;
	struct selected_heap heap;
	struct parallelism_range parallelism;
	struct selected_slow slow;
	/* Where the elapsed time went, once it was asked for (calltree/elapsed.h); owned. */
	struct elapsed **elapsed;
};

/* Whatever its time: does the sample pass the filters? */
static inline bool selection_has(const struct selection *selection, const struct sample *sample)
{
	return selection->threads[sample->thread.v] && selection->stacks[sample->stack.v] &&
	       (!selection->labels || selection->labels[sample->labels]);
}

/* The time that is selected, of all runs together. */
uint64_t selection_elapsed_ns(const struct selection *selection);

/* Where that time went; the selection keeps it. Borrowed. */
const struct elapsed *selection_elapsed(const struct selection *selection);

/* The selected range of a thread's run. Borrowed. */
const struct time_range *selection_range(const struct selection *selection,
					 struct thread_id thread);

/* ERR_INVALID if it has a setting about blocks that belongs to another metric. */
int filter_fits(const struct filter *filter, enum metric metric, struct err *err);

/*
 * Fails with ERR_INVALID on a bad expression or an empty time range, with ERR_NOT_FOUND where there
 * is no such mark, no such label or no trigger.
 */
int selection_new(const struct expansion *expansion, const struct filter *filter,
		  struct selection **selection, struct err *err);
void selection_free(struct selection *selection);

/*
 * Walks over the selected samples. A sample that began before or ended after the
 * time range is cut: its weights are taken in proportion, its stack as a whole.
 */
struct selection_walk {
	const struct selection *selection; /* borrowed */
	size_t next;
	uint64_t *previous_ns; /* by thread_id, owned; NULL where begins are of no use */
	/* begin of the last sample's time, as cut; see selection_walk_tell_begins() */
	uint64_t begin_ns;
	size_t slow_call; /* of slow_calls.at, if that is a filter; SLOW_CALL_NONE: another call */
};

void selection_walk_init(struct selection_walk *walk, const struct selection *selection);
/* Have begin_ns set. Call this before the first sample. */
void selection_walk_tell_begins(struct selection_walk *walk);
void selection_walk_release(struct selection_walk *walk);
/* The next selected sample, as cut; false at the end. */
bool selection_walk_next(struct selection_walk *walk, struct sample *sample);

#endif

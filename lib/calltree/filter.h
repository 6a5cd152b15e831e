/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_FILTER_H
#define PROFC_CALLTREE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct err;
struct expansion;
struct reshaped;

/*
 * Which samples a view or an export is about. Every pattern list is an "any of";
 * lists of different kinds must all hold; an empty list holds for everything. A
 * pattern of digits alone is an id (tid, pid), anything else a POSIX extended
 * regular expression searched for in the name.
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

/* Which moment of memory METRIC_LIVE is about, and what is soon for METRIC_TEMPORARY. */
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

/* Functions by name: what stacks begin with, and what is left out of them. */
struct shape_filter {
	struct pattern_list focus; /* stacks with such a function, from the outermost one on */
	struct pattern_list hide;  /* its time is that of its caller */
};

struct filter {
	struct pattern_list threads;   /* tid, or name of the thread */
	struct pattern_list processes; /* pid, or name or command of the process */
	struct pattern_list modules;   /* path of the module the sample's own code is in */
	struct pattern_list functions; /* name of a function anywhere in the stack */
	struct shape_filter shape;     /* those see stacks as it leaves them */
	uint64_t from_ns, to_ns;       /* of the recording's clock; to_ns 0: to the end */
	/* In place of those: the first mark of that text, and the first of its text after that. */
	struct mark_name from_mark, to_mark;
	struct heap_filter heap;
};

/* The same of a selection. */
struct selected_heap {
	uint64_t at_ns; /* or HEAP_AT_END */
	bool at_peak;
	uint64_t temporary_ns;
};

/* The filter applied to a profile: tables by id, so that asking is cheap. */
struct selection {
	/*
	 * Whose stacks samples have: borrowed, or with a focus or hidden functions that of
	 * `reshaped`, which is owned. Labels and places are the same in both.
	 */
	const struct expansion *expansion;
	const struct expansion *original; /* borrowed: what the selection was made of */
	struct reshaped *reshaped;
	bool hides_nothing; /* no function is called as the hidden ones are to be */
	bool *threads;	    /* by thread_id */
	bool *processes;    /* by row of profile.processes */
	bool *stacks;	    /* by stack_id; the empty stack stands for samples without one */
	bool everything;    /* no filter was given */
	bool whole_lives; /* none but of threads and processes: what is left is there as a whole */
	bool whole_processes;	 /* none but of processes, functions and times; no other stacks */
	bool *functions;	 /* by label: those of a filter of functions; NULL: there is none */
	uint64_t from_ns, to_ns; /* of blocks: when they were allocated */
	struct selected_heap heap;
};

/* ERR_INVALID where it says of blocks what another metric is about. */
int filter_fits(const struct filter *filter, enum metric metric, struct err *err);

/*
 * Fails with ERR_INVALID on a bad expression or an empty time range, with ERR_NOT_FOUND where there
 * is no such mark.
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
	uint64_t begin_ns;     /* of what the sample covers that came last, as cut; if told */
};

void selection_walk_init(struct selection_walk *walk, const struct selection *selection);
/* Before the first sample: have begin_ns told. */
void selection_walk_tell_begins(struct selection_walk *walk);
void selection_walk_release(struct selection_walk *walk);
/* The next selected sample, as cut; false at the end. */
bool selection_walk_next(struct selection_walk *walk, struct sample *sample);

#endif

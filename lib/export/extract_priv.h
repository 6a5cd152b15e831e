/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_EXPORT_EXTRACT_PRIV_H
#define PROFC_EXPORT_EXTRACT_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "calltree/expand.h"
#include "export/export_formats.h"
#include "export/export_options.h"
#include "export/paths_priv.h"
#include "profile/profile.h"
#include "stack/stack.h"

struct counts;
struct err;
struct json;
struct selection;
struct sink;
struct verdict;

/*
 * The part of a profile that an export contains: the samples that pass the filters and have any
 * weight, as points on lanes, with their stacks as paths of labels.
 */

/* A time line: one thread, or (threads merged) every thread of every process of one name. */
struct lane {
	struct str_id process_name, thread_name; /* of profile.strings; thread: empty if merged */
	uint32_t process;			 /* PROCESS_NONE if merged */
	pid_t pid, tid;				 /* 0 if merged */
	size_t first, nr; /* points[first … first + nr - 1], in time order */
	uint64_t weight;  /* sum over its points */
};

struct point {
	uint64_t end_ns;  /* of the recording's clock */
	uint64_t wall_ns; /* it covers [end_ns - wall_ns, end_ns) of its thread */
	uint64_t cpu_ns;
	uint64_t weight;	  /* > 0 */
	uint32_t nr;		  /* observations; 0 when unattributed */
	struct stack_id path;	  /* of extract.paths */
	struct stack_id stack;	  /* of profile.stacks */
	uint32_t labels;	  /* number of a label (profile/labels.h) */
	const struct level *root; /* replaces the missing callers, or NULL */
};

struct extract {
	const struct profile *profile;	      /* borrowed, of the expansion */
	const struct export_options *options; /* borrowed */
	struct expansion *names_of;	      /* owned; of all frames and labels */
	const struct expansion *expansion;    /* of the selection, which may have other stacks */
	struct selection *selection;
	struct verdict *verdict;  /* owned; NULL: none is asked for, or not all is selected */
	struct counts *counts;	  /* exact ones, of the selection */
	struct stack_trie *paths; /* distinct; parents precede children */
	struct lane *lanes;	  /* those with points, in the order of the profile's threads */
	size_t nr_lanes;
	struct point *points; /* lane by lane */
	size_t nr_points;
	uint64_t weight;	    /* sum over all lanes */
	struct profile_mark *marks; /* the user's in the time range, in time order */
	size_t nr_marks;
	struct buf names; /* of all labels, NUL-ended, back to back */
	size_t *name_at;  /* by label */
};

/* Where options.any_metric is set, the metric becomes that of the verdict, if there is one. */
int extract_new(const struct profile *profile, struct export_options *options, enum path_kind kind,
		struct extract **result, struct err *err);
void extract_free(struct extract *extract);

/* The name of a label, in the form of the options, raw. Borrowed. */
const char *extract_name(const struct extract *extract, uint32_t label);
/* Append it for formats without files, so with the place of a function of a script. */
void extract_append_placed_name(struct buf *out, const struct extract *extract, uint32_t label);
/* The file a label's function is defined in, or NULL; the line, 0 when unknown. */
const char *extract_function_file(const struct extract *extract, uint32_t label);
uint32_t extract_function_line(const struct extract *extract, uint32_t label);
/* "name (pid 1, tid 2)", "process/name (pid 1, tid 2)", or the process name if merged. Raw. */
void extract_append_lane_name(struct buf *out, const struct extract *extract,
			      const struct lane *lane);
/* Index of the lane with the most weight. */
size_t extract_heaviest_lane(const struct extract *extract);
/* Weights are nanoseconds. */
bool extract_is_time(const struct extract *extract);
/* Are weights bytes or blocks of memory; are they bytes? */
bool extract_is_memory(const struct extract *extract);
bool extract_is_bytes(const struct extract *extract);
/* "ns", "samples", "bytes" or "blocks". */
const char *extract_unit(const struct extract *extract);
/* "cpu", "wall", … or "samples". */
const char *extract_weight_name(const struct extract *extract);
/* The recorded command, words joined by spaces, or that of the first process. Raw. */
void extract_append_title(struct buf *out, const struct extract *extract);
/* As above, inside a JSON string. */
void extract_append_title_json(struct buf *out, const struct extract *extract);

/* For the progress: i of the nr steps in which a lane is written are done. */
void extract_passed(const struct extract *extract, const struct lane *lane, size_t i, size_t nr);

/* "mark at 1.250000s: text": for formats without a place for it; raw. */
void extract_append_mark(struct buf *out, const struct extract *extract,
			 const struct profile_mark *mark);

/* The writers, one file each. A failed write is left to the sink. */
#define WRITER(kind, name, ...) void write_##name(const struct extract *extract, struct sink *sink);
EXPORT_FORMATS(WRITER)
#undef WRITER

#endif

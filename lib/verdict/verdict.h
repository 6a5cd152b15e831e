/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verdict on a profile: the finding that stands out, its evidence, and the command that shows
 * more.
 */
#ifndef PROFC_VERDICT_VERDICT_H
#define PROFC_VERDICT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "calltree/dimension.h"
#include "profile/metric.h"

struct buf;
struct flat;
struct profile;
struct selection;
struct sink;
struct view;
struct weights;

/* The rules, in the order of the table: a more specific one comes before those that it explains. */
enum verdict_rule {
	VERDICT_GROWTH,	    /* memory that is never freed and grows */
	VERDICT_LOCK,	    /* a lock, and what its owner did */
	VERDICT_POLLING,    /* a thread that sleeps for a moment, again and again */
	VERDICT_CALL,	    /* a system call: time in the kernel for it, and blocked in it */
	VERDICT_DESCRIPTOR, /* a file, pipe or socket, in different calls */
	VERDICT_CHILD,	    /* a child process that was not recorded */
	VERDICT_PROCESSES,  /* processes that live for milliseconds */
	VERDICT_POOL,	    /* threads of a pool that all have work */
	VERDICT_FAULTS,	    /* kernel time outside system calls: page faults */
	VERDICT_FUNCTION,   /* one hot function */
	VERDICT_PATH,	    /* one path of calls that most CPU time is below */
	VERDICT_THREADS,    /* more busy threads than CPUs */
	VERDICT_OTHERS,	    /* other programs had the CPUs */
	VERDICT_RULE_COUNT,
};

#define VERDICT_NONE VERDICT_RULE_COUNT

enum verdict_state {
	VERDICT_UNKNOWN, /* the recording lacks facts that the rule needs */
	VERDICT_BELOW,	 /* not above its threshold beyond the interval */
	VERDICT_FIRED,
};

/* Texts are escaped for a terminal, and names in them are cut. */
struct verdict_finding {
	enum verdict_state state;
	double percent, interval; /* of the work, or as the rule says; UNKNOWN: 0 */
	double threshold;	  /* in percent */
	enum metric metric;	  /* the metric of views that show it */
	const char *name;	  /* stable, for programs: "lock" */
	const char *subject;	  /* for people: "waits for a lock" */
	const char *missing;	  /* UNKNOWN: the reason; else NULL */
	char *text;		  /* FIRED: what was found; else NULL; owned */
	char *words;		  /* FIRED: the command after `profc`, for a shell; owned */
};

/* A fact for the finding, with its share of the time that the finding is about. */
struct verdict_evidence {
	double percent, interval;
	char *text; /* owned, as those of findings */
};

#define VERDICT_EVIDENCE_MAX 6

struct verdict {
	struct verdict_finding findings[VERDICT_RULE_COUNT]; /* by rule */
	enum verdict_rule rule; /* the one that stands out, or VERDICT_NONE */
	char *state;		/* "15.2 s: 0.6% on a CPU, 88.8% blocked"; owned */
	struct verdict_evidence evidence[VERDICT_EVIDENCE_MAX];
	size_t nr_evidence;
};

/*
 * Judge the selected part of a profile, which must be prepared (profile/prepare.h). The selection
 * is borrowed for the call.
 */
struct verdict *verdict_new(const struct selection *selection);
/*
 * The same for a caller that has the weights of the selection in METRIC_CPU, and their rows by
 * function or NULL: both are borrowed for the call.
 */
struct verdict *verdict_of_weights(const struct weights *cpu, const struct flat *functions);
/* Judge all of a profile, which must be prepared. */
struct verdict *verdict_of_profile(const struct profile *profile);
void verdict_free(struct verdict *verdict); /* may be NULL */

/* The finding that stands out, or NULL. Borrowed. */
const struct verdict_finding *verdict_first(const struct verdict *verdict);

/* "15.2 s: 0.6% on a CPU, 88.8% blocked: 105 s for mutex lg", or "...: nothing stands out". */
void verdict_append_line(struct buf *out, const struct verdict *verdict);
/*
 * "profc report --by lock -i FILE", the command that shows more; `file` is the argument of -i, or
 * NULL for the default. Where nothing stands out, the plain report.
 */
void verdict_append_command(struct buf *out, const struct verdict *verdict, const char *file);
/* Append a command with other words than those of the verdict: "report -m calls". */
void verdict_append_other_command(struct buf *out, const char *words, const char *file);

/* Print the line, and the command if something stands out, wrapped to the view: above a report. */
void verdict_print_head(const struct verdict *verdict, const struct view *view, const char *file,
			struct sink *sink);
/*
 * Print a note below a table by thread or process: which rows poll, or spend CPU time in page
 * faults, by the thresholds of these rules. Other tables, and parts of a recording, get no note.
 */
void verdict_print_notes(const struct selection *selection, enum dimension by,
			 const struct view *view, struct sink *sink);
/*
 * Print the verdict, its evidence and all other findings: as text in at most 60 lines of 80
 * columns, and as JSON in at most 8 kB.
 */
void verdict_print_text(const struct verdict *verdict, const struct view *view, const char *file,
			struct sink *sink);
void verdict_print_json(const struct verdict *verdict, const char *file, struct sink *sink);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CONTEXT_CONTEXT_H
#define PROFC_CONTEXT_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "context/process_context.h"
#include "snapshot/thread_context.h"

struct snapshot;
struct space;

/*
 * The labels of threads: what a program says that each of them works on, by the thread context of
 * OpenTelemetry (OTEP 4947). Programs are found by what they export: others cost a look at each
 * module with thread-local data, once in a recording. Nothing is stopped here. Used by one thread
 * at a time.
 */

/* Which modules of a recording have the variable. */
struct context_modules;

struct context_modules *context_modules_new(void);
void context_modules_free(struct context_modules *modules);

/* The variable of an address space, and what the process says of its keys. */
struct context_process;

/* Both are borrowed. */
struct context_process *context_process_new(struct context_modules *modules, struct space *space);
void context_process_free(struct context_process *process);

/*
 * To be called before each sample of a process is looked at: looks at what it has mapped since the
 * last call, and now and then at what it publishes. True: context_process_place() is another one.
 */
bool context_process_look(struct context_process *process);
const struct context_place *context_process_place(const struct context_process *process);
/* The schema that it publishes; NULL: none. Borrowed until the next call of the above. */
const char *context_process_schema(const struct context_process *process);
/* Why its labels are not read; NULL: they are. Static. */
const char *context_process_problem(const struct context_process *process);

/* Numbers of outcomes, which are counted and stored by name. */
enum context_outcome {
	CONTEXT_NONE,	    /* the process publishes none that can be read */
	CONTEXT_READ,	    /* a record, with labels or without */
	CONTEXT_NO_RECORD,  /* the thread has none at this moment */
	CONTEXT_NOT_COPIED, /* the record was not in the copy, or the thread's pointer is not known
			     */
	CONTEXT_INVALID,    /* the thread was changing the record */
	CONTEXT_REFUSED,    /* no record, or too long a one, is where the variable points */
	CONTEXT_DAMAGED, /* attributes that cannot be right: the whole ones before them are kept */
	CONTEXT_OUTCOME_COUNT,
};

const char *context_outcome_name(enum context_outcome outcome);

struct context_label {
	const char *key, *value;
};

#define CONTEXT_LABELS_MAX (CONTEXT_KEYS_MAX + 2)

/* Distinct keys: those of the process in the order of their numbers, then trace_id and span_id. */
struct context_labels {
	struct context_label at[CONTEXT_LABELS_MAX]; /* borrowed: from the process, and below */
	size_t nr;
	char texts[CONTEXT_BYTES_MAX + 64];
	size_t nr_text_bytes;
};

/*
 * The labels of a thread in its snapshot. Keys that the process has named since are read from it as
 * it is now. `labels` has none unless the outcome is CONTEXT_READ or CONTEXT_DAMAGED.
 */
enum context_outcome context_read(struct context_process *process, const struct snapshot *snapshot,
				  struct context_labels *labels);

/* As above of a record and its names; the bytes may be anything. */
enum context_outcome context_parse(const struct process_context *names, const void *record,
				   size_t nr_bytes, struct context_labels *labels);

#endif

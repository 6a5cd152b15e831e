/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_CONTEXT_ROWS_H
#define PROFC_COLLECTOR_CONTEXT_ROWS_H

#include <stdbool.h>
#include <stdint.h>

struct context_process;
struct profile;
struct profile_process;
struct snapshot;
struct space;
struct thread_hints;

/* Makes rows of the labels that programs give to what their threads do (context/context.h). */
struct context_rows;

/* `profile` is borrowed. */
struct context_rows *context_rows_new(struct profile *profile);
void context_rows_free(struct context_rows *rows);

/* A thread with its process; all members are borrowed. */
struct context_subject {
	struct context_process **process; /* NULL at first: made here, by the owner freed */
	struct space *space;
	struct profile_process *row; /* gets what the process publishes */
	struct thread_hints *hints;  /* learn where the next snapshots have the labels */
	bool *asks_registers;	     /* of the thread; false at first */
};

/* The number of the labels of a snapshot (profile/labels.h); 0: none are known. */
uint32_t context_rows_read(struct context_rows *rows, const struct context_subject *subject,
			   const struct snapshot *snapshot);

/*
 * Set the counters context_read, context_being_changed and so on: samples of processes that publish
 * contexts, by what came of theirs; and context_labels_left_out: the labels that found no room.
 */
void context_rows_set_counters(const struct context_rows *rows);

#endif

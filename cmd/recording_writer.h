/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes files of a recording while it goes on: a thread beside it, as names take long to be found.
 */
#ifndef PROFC_CMD_RECORDING_WRITER_H
#define PROFC_CMD_RECORDING_WRITER_H

#include <stdbool.h>

#include "collector/collector.h"

struct sampler;

/* The thread and its queue. One thread calls all functions. */
struct recording_writer;

/* A part of the recording that is to be written; in a structure of the caller's. */
struct recording_part {
	struct recording_part *next; /* private */
	struct collector_cut cut;    /* where it ends; its `look` may be set */
	/* Called once the cut is made, parts one after the other; may free the part. */
	void (*write)(void *context);
	void *context;
};

/* The thread, which the first part starts, has this niceness. */
struct recording_writer *recording_writer_new(int niceness);
/* Waits for what is not written yet. May be NULL. */
void recording_writer_free(struct recording_writer *writer);

/*
 * Can parts be written beside the recording? If there is no thread and none can be started,
 * recording_writer_add() writes them itself.
 */
bool recording_writer_is_beside(struct recording_writer *writer);
/* End the part here, and have it written. The part is borrowed until its write() ends. */
void recording_writer_add(struct recording_writer *writer, struct sampler *sampler,
			  struct recording_part *part);

/*
 * No more is added: once all is written, the descriptor becomes readable. -1: there was no thread,
 * and all is.
 */
int recording_writer_finish(struct recording_writer *writer);
/* Likewise, and wait until all is written. */
void recording_writer_wait(struct recording_writer *writer);

#endif

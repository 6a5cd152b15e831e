/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_RECORDING_PUSH_H
#define PROFC_CMD_RECORDING_PUSH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol.h"

struct err;
struct profile;
struct record_options;
struct recording_writer;
struct sampler;

/*
 * A recording that is pushed while it goes: --every. Of each such time the samples become pprof
 * files, by the writer beside the recording, and another thread delivers them: the recording waits
 * for neither. The times join, and each sample is pushed once. One thread calls all functions but
 * recording_push_collect().
 */
struct recording_push;

/* NULL in *push without --every. ERR_INVALID: options that make no sense. They are borrowed. */
int recording_push_new(const struct record_options *options, struct recording_push **push,
		       struct err *err);
void recording_push_free(struct recording_push *push); /* NULL is accepted, as below */
/*
 * Make the way to the receiver and the spool ready, while profc has one thread. No more blocks of
 * memory are kept than max_blocks.
 */
int recording_push_open(struct recording_push *push, size_t max_blocks, struct err *err);
/*
 * The recording has begun. The options of names are borrowed as they are elsewhere; and the writer,
 * which has written all when recording_push_finish() or recording_push_free() is called.
 */
void recording_push_begin(struct recording_push *push, struct recording_writer *writer,
			  const struct symbol_options *symbols, bool clears_line);
/* collector_options.look: take the samples that are to be written. */
void recording_push_collect(struct recording_push *push, const struct profile *profile);

/* Blocks of memory that were alive in the last so much time are needed; 0 if push is NULL. */
uint64_t recording_push_memory_ns(const struct recording_push *push);
/* When recording_push_look() is to be called, by CLOCK_MONOTONIC; UINT64_MAX: never. */
uint64_t recording_push_due_ns(const struct recording_push *push);
/* Push the time since the last one if it is due. */
void recording_push_look(struct recording_push *push, struct sampler *sampler);
/* Have its counters in a profile. */
void recording_push_note(struct recording_push *push, struct profile *profile);

/*
 * The recording has ended, and all samples were collected: push the last time, wait some seconds
 * for the delivery, and say what was delivered. False: a profile is lost, or could not be made.
 */
bool recording_push_finish(struct recording_push *push, const struct profile *profile);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_HEAP_READER_PRIV_H
#define PROFC_SAMPLER_HEAP_READER_PRIV_H

#include <stdbool.h>

#include "collector/block_source.h"

struct consumer;
struct heap_reader;
struct sampler;

/* The state of the reader of allocations, in struct heap_session. The sampler is borrowed. */
struct heap_reader *heap_reader_new(struct sampler *sampler);
void heap_reader_free(struct heap_reader *reader); /* may be NULL */

/* block_source.read; `context` is the sampler. */
enum blocks_read heap_read(void *context, struct consumer *consumer, bool begins);
/*
 * Read all records that are complete and whose writers are known. Call it in run() of heap_run().
 */
void heap_read_at_once(struct sampler *sampler, struct consumer *consumer);
/*
 * As collector_run(), but run() may use all of the sampler. The caller has the lock, or no other
 * thread uses the sampler.
 */
void heap_run(struct sampler *sampler, void (*run)(void *context, struct consumer *consumer),
	      void *context);

#endif

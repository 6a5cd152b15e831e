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
/* Reads all that there is now, as far as it is complete and its writers are known. In run(). */
void heap_read_at_once(struct sampler *sampler, struct consumer *consumer);
/*
 * As collector_run(), with the lock, or while no other thread uses the sampler: run() may use all
 * of it.
 */
void heap_run(struct sampler *sampler, void (*run)(void *context, struct consumer *consumer),
	      void *context);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_SEARCHING_PRIV_H
#define PROFC_SAMPLER_SEARCHING_PRIV_H

#include <stdint.h>

#include "collector/block_source.h"

struct consumer;
struct sampler;

/* Do pointers lead to live blocks? With the lock, which is kept. */
void search_leaving(struct sampler *sampler); /* processes that are about to end */
void search_all(struct sampler *sampler);     /* before the recording ends */
/*
 * It has ended, or executed a program: it is too late for a search, and that is recorded. On the
 * collector's thread.
 */
void search_gone(struct sampler *sampler, struct consumer *consumer, uint32_t process,
		 enum process_end how);

#endif

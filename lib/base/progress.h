/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_PROGRESS_H
#define PROFC_BASE_PROGRESS_H

#include <stdatomic.h>
#include <stddef.h>

/*
 * The progress of long work: set by the thread that does it, read by one that shows it. Only the
 * work defines the unit of `done`. Zero-initialised: nothing is known yet.
 */
struct progress {
	atomic_size_t done, total; /* total 0: not known */
	atomic_size_t bytes;	   /* that were written */
};

/* Both of these do nothing without a progress (NULL). */
static inline void progress_set(struct progress *progress, size_t done, size_t total)
{
	if (!progress)
		return;
	atomic_store_explicit(&progress->total, total, memory_order_relaxed);
	atomic_store_explicit(&progress->done, done, memory_order_relaxed);
}

static inline void progress_add_bytes(struct progress *progress, size_t nr_bytes)
{
	if (progress)
		atomic_fetch_add_explicit(&progress->bytes, nr_bytes, memory_order_relaxed);
}

#endif

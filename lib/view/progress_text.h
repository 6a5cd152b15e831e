/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_PROGRESS_TEXT_H
#define PROFC_VIEW_PROGRESS_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct buf;

/* The work done and the time it took; kept by struct progress. */
struct progress_state {
	size_t done, total; /* total 0: not known */
	size_t bytes;
	uint64_t elapsed_ns; /* since the work began */
	uint64_t counted_ns; /* since before the first that is counted in `done` */
	uint64_t written_ns; /* and in `bytes` */
};

/*
 * ": 37%, 412 MB at 45.0 MB/s, 12 s left", as far as it is known; the time elapsed where nothing is
 * known. The time left assumes the pace so far.
 */
void append_progress(struct buf *out, const struct progress_state *state);

#endif

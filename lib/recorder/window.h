/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_RECORDER_WINDOW_H
#define PROFC_RECORDER_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct history_span;
struct profile;

/*
 * The samples of a recording that has no file, since they were last taken, and the blocks of memory
 * that it keeps. Each is taken once, so that what is taken adds up to the recording. The
 * collector's thread adds to it, others read it.
 */
struct window;

/*
 * No more than max_bytes of samples are kept: further ones are left out, and counted. With more new
 * blocks than max_blocks the recording may forget some before they are taken.
 */
struct window *window_new(uint64_t max_bytes, size_t max_blocks);
void window_free(struct window *window);

/* collector_options.look: take the samples that are to be written. `context` is the window. */
void window_look(void *context, const struct profile *profile);

/* Is half of the room used, of samples or blocks? It is time to take all then. */
bool window_is_filling(struct window *window);
/* How many samples were left out so far. */
uint64_t window_nr_left_out(struct window *window);

/*
 * Take all samples as a profile of that time, and all blocks of memory: those that were alive at
 * its beginning are earlier ones. A sample may be of an earlier time, as that of a
 * thread is held back until its next one. `profile` is the recording's, which nothing changes
 * meanwhile. The caller owns the result.
 */
struct profile *window_take(struct window *window, const struct profile *profile,
			    const struct history_span *span);

#endif

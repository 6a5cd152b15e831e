// SPDX-License-Identifier: GPL-2.0-or-later
#include "recorder/window.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "profile/excerpt.h"
#include "profile/profile.h"
#include "recorder/history.h"

struct window {
	uint64_t max_bytes;
	pthread_mutex_t lock; /* of what follows */
	struct sample *samples;
	size_t nr_samples, cap_samples;
	struct profile_advance *advances;
	size_t nr_advances, cap_advances;
	uint64_t nr_left_out;
	/* The end of the blocks that were taken: the time of the last one, and how many have it. */
	uint64_t blocks_until_ns;
	size_t nr_blocks_then;
	size_t max_blocks, nr_blocks; /* new ones */
};

static uint64_t bytes_of(size_t nr_samples, size_t nr_advances)
{
	return nr_samples * sizeof(struct sample) + nr_advances * sizeof(struct profile_advance);
}

struct window *window_new(uint64_t max_bytes, size_t max_blocks)
{
	struct window *window = xcalloc(1, sizeof(*window));

	window->max_bytes = max_bytes;
	window->max_blocks = max_blocks;
	pthread_mutex_init(&window->lock, NULL);
	return window;
}

static void forget(struct window *window)
{
	free(window->samples);
	free(window->advances);
	window->samples = NULL;
	window->advances = NULL;
	window->nr_samples = window->cap_samples = 0;
	window->nr_advances = window->cap_advances = 0;
}

void window_free(struct window *window)
{
	if (!window)
		return;
	forget(window);
	pthread_mutex_destroy(&window->lock);
	free(window);
}

static void add_rows(struct window *window, const struct profile *profile)
{
	const struct profile_advances *more = &profile->advances;

	ARRAY_RESERVE(window->samples, window->nr_samples + profile->nr_samples,
		      window->cap_samples);
	ARRAY_RESERVE(window->advances, window->nr_advances + more->nr, window->cap_advances);
	if (profile->nr_samples)
		memcpy(&window->samples[window->nr_samples], profile->samples,
		       profile->nr_samples * sizeof(*profile->samples));
	if (more->nr)
		memcpy(&window->advances[window->nr_advances], more->rows,
		       more->nr * sizeof(*more->rows));
	window->nr_samples += profile->nr_samples;
	window->nr_advances += more->nr;
}

/* Rows are in the order of times, and go from anywhere when they are forgotten. */
static size_t first_new_block(const struct window *window, const struct profile_heap *heap)
{
	size_t nr_then = 0, i = heap->nr_allocations;

	while (i && heap->allocations[i - 1].time_ns >= window->blocks_until_ns) {
		nr_then += heap->allocations[i - 1].time_ns == window->blocks_until_ns;
		i--;
	}
	return i + min_u64(nr_then, window->nr_blocks_then);
}

void window_look(void *context, const struct profile *profile)
{
	struct window *window = context;

	pthread_mutex_lock(&window->lock);
	if (bytes_of(window->nr_samples + profile->nr_samples,
		     window->nr_advances + profile->advances.nr) <= window->max_bytes)
		add_rows(window, profile);
	else
		window->nr_left_out += profile->nr_samples;
	window->nr_blocks = profile->heap.nr_allocations - first_new_block(window, &profile->heap);
	pthread_mutex_unlock(&window->lock);
}

bool window_is_filling(struct window *window)
{
	bool is_filling;

	pthread_mutex_lock(&window->lock);
	is_filling = bytes_of(window->nr_samples, window->nr_advances) > window->max_bytes / 2 ||
		     window->nr_blocks > window->max_blocks / 2;
	pthread_mutex_unlock(&window->lock);
	return is_filling;
}

uint64_t window_nr_left_out(struct window *window)
{
	uint64_t nr;

	pthread_mutex_lock(&window->lock);
	nr = window->nr_left_out;
	pthread_mutex_unlock(&window->lock);
	return nr;
}

static void note_blocks(struct window *window, const struct profile_heap *heap)
{
	size_t i = heap->nr_allocations;

	if (!i)
		return;
	window->blocks_until_ns = heap->allocations[i - 1].time_ns;
	window->nr_blocks_then = 0;
	while (i && heap->allocations[i - 1].time_ns == window->blocks_until_ns) {
		window->nr_blocks_then++;
		i--;
	}
}

struct profile *window_take(struct window *window, const struct profile *profile,
			    const struct history_span *span)
{
	struct excerpt_rows rows;
	struct profile *taken;

	pthread_mutex_lock(&window->lock);
	rows = (struct excerpt_rows){window->samples, window->nr_samples, window->advances,
				     window->nr_advances};
	taken = profile_excerpt(
		profile,
		&(struct excerpt){.from_ns = span->from_ns,
				  .to_ns = span->to_ns,
				  .start_realtime_ns =
					  span->to_realtime_ns - (span->to_ns - span->from_ns),
				  .parts = &rows,
				  .nr_parts = 1,
				  .keeps_all = true,
				  .first_allocation = first_new_block(window, &profile->heap)});
	note_blocks(window, &profile->heap);
	window->nr_blocks = 0;
	forget(window);
	pthread_mutex_unlock(&window->lock);
	return taken;
}

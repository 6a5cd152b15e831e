// SPDX-License-Identifier: GPL-2.0-or-later
/* A heap. */
#include "base/due_queue.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"

/* With four children each, their times are mostly in one line of the cache. */
#define CHILDREN 4

void due_queue_release(struct due_queue *queue)
{
	free(queue->heap);
	*queue = (struct due_queue){0};
}

static struct due_entry *at(const struct due_queue *queue, size_t place)
{
	return &queue->heap[place - 1];
}

static void put_at(struct due_queue *queue, struct due_entry entry, size_t place)
{
	*at(queue, place) = entry;
	entry.due->place = place;
}

static size_t parent_of(size_t place)
{
	return (place - 2) / CHILDREN + 1;
}

/* Returns its place. */
static size_t move_up(struct due_queue *queue, struct due_entry entry, size_t place)
{
	while (place > 1 && at(queue, parent_of(place))->due_ns > entry.due_ns) {
		put_at(queue, *at(queue, parent_of(place)), place);
		place = parent_of(place);
	}
	return place;
}

/* 0: there is none. */
static size_t first_child(const struct due_queue *queue, size_t place)
{
	size_t child = CHILDREN * (place - 1) + 2, first = child;
	size_t end = min_u64(child + CHILDREN, queue->nr + 1);

	if (child > queue->nr)
		return 0;
	while (++child < end) {
		if (at(queue, child)->due_ns < at(queue, first)->due_ns)
			first = child;
	}
	return first;
}

static void move_down(struct due_queue *queue, struct due_entry entry, size_t place)
{
	size_t child;

	while ((child = first_child(queue, place)) && at(queue, child)->due_ns < entry.due_ns) {
		put_at(queue, *at(queue, child), place);
		place = child;
	}
	put_at(queue, entry, place);
}

/* The entry at this place is overwritten. */
static void place_entry(struct due_queue *queue, struct due_entry entry, size_t place)
{
	move_down(queue, entry, move_up(queue, entry, place));
}

void due_queue_put(struct due_queue *queue, struct due *due, uint64_t due_ns)
{
	if (!due->place) {
		ARRAY_GROW(queue->heap, queue->nr, queue->cap);
		due->place = ++queue->nr;
	}
	due->due_ns = due_ns;
	place_entry(queue, (struct due_entry){due_ns, due}, due->place);
}

void due_queue_remove(struct due_queue *queue, struct due *due)
{
	size_t place = due->place;
	struct due_entry last;

	if (!place)
		return;
	last = *at(queue, queue->nr--);
	due->place = 0;
	if (last.due != due)
		place_entry(queue, last, place);
}

bool due_queue_is_due(const struct due_queue *queue, uint64_t now_ns)
{
	return queue->nr && at(queue, 1)->due_ns <= now_ns;
}

void *due_queue_take(struct due_queue *queue, uint64_t now_ns)
{
	struct due *first;

	if (!due_queue_is_due(queue, now_ns))
		return NULL;
	first = at(queue, 1)->due;
	due_queue_remove(queue, first);
	return first->of;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* A binary heap. */
#include "base/due_queue.h"

#include <stdlib.h>

#include "base/alloc.h"

void due_queue_release(struct due_queue *queue)
{
	free(queue->heap);
	*queue = (struct due_queue){0};
}

static struct due *at(const struct due_queue *queue, size_t place)
{
	return queue->heap[place - 1];
}

static void put_at(struct due_queue *queue, struct due *due, size_t place)
{
	queue->heap[place - 1] = due;
	due->place = place;
}

static void move_up(struct due_queue *queue, struct due *due)
{
	size_t place = due->place;

	while (place > 1 && at(queue, place / 2)->due_ns > due->due_ns) {
		put_at(queue, at(queue, place / 2), place);
		place /= 2;
	}
	put_at(queue, due, place);
}

static void move_down(struct due_queue *queue, struct due *due)
{
	size_t place = due->place;

	for (size_t child = 2 * place; child <= queue->nr; child = 2 * place) {
		if (child < queue->nr && at(queue, child + 1)->due_ns < at(queue, child)->due_ns)
			child++;
		if (at(queue, child)->due_ns >= due->due_ns)
			break;
		put_at(queue, at(queue, child), place);
		place = child;
	}
	put_at(queue, due, place);
}

void due_queue_put(struct due_queue *queue, struct due *due, uint64_t due_ns)
{
	if (!due->place) {
		ARRAY_GROW(queue->heap, queue->nr, queue->cap);
		put_at(queue, due, ++queue->nr);
	}
	due->due_ns = due_ns;
	move_up(queue, due);
	move_down(queue, due);
}

void due_queue_remove(struct due_queue *queue, struct due *due)
{
	size_t place = due->place;
	struct due *last;

	if (!place)
		return;
	last = at(queue, queue->nr--);
	due->place = 0;
	if (last == due)
		return;
	put_at(queue, last, place);
	move_up(queue, last);
	move_down(queue, last);
}

bool due_queue_is_due(const struct due_queue *queue, uint64_t now_ns)
{
	return queue->nr && queue->heap[0]->due_ns <= now_ns;
}

void *due_queue_take(struct due_queue *queue, uint64_t now_ns)
{
	struct due *first;

	if (!due_queue_is_due(queue, now_ns))
		return NULL;
	first = at(queue, 1);
	due_queue_remove(queue, first);
	return first->of;
}

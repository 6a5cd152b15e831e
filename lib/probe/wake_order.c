// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/wake_order.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/key_map.h"
#include "base/minmax.h"

/* futex(2), linux/futex.h */
#define OPERATION      0x7f
#define IS_PRIVATE     0x80
#define DOES_WAIT      0
#define DOES_WAKE      1
#define DOES_REQUEUE   3
#define DOES_COMPARE   4 /* and requeue */
#define DOES_WAKE_OP   5
#define DOES_LOCK_PI   6
#define DOES_UNLOCK_PI 7
#define DOES_WAIT_BITS 9
#define DOES_WAKE_BITS 10
#define DOES_WAIT_RQPI 11
#define DOES_REQUEUEPI 12
#define DOES_LOCK_PI2  13

#define SLEEPERS_MAX 65536
/*
 * How often threads are moved to another word for each note: one that waits makes a note of that,
 * and is moved once. Invented notes could have all moved by each.
 */
#define MOVES_OF_NOTE 4
#define MOVES_MAX     (MOVES_OF_NOTE * SLEEPERS_MAX)

#define NONE UINT32_MAX

/* A thread that has made a call; in a circle of those that wait for the same word, if it waits. */
struct sleeper {
	uint64_t word; /* 0: it does not wait */
	uint64_t from;
	uint32_t process, tid;
	uint32_t next, before;
};

struct wake_order {
	struct sleeper *sleepers; /* owned */
	uint32_t nr;
	uint32_t nr_moves_left;
	size_t cap;
	struct key_map by_tid;	/* of a process */
	struct key_map by_word; /* likewise: the one that has waited longest */
};

struct adding {
	struct wake_order *order;
	uint32_t process;
	const struct patch_note *note;
	void (*ended)(void *context, const struct wake_ended *ended);
	void *context;
};

struct wake_order *wake_order_new(void)
{
	return xcalloc(1, sizeof(struct wake_order));
}

void wake_order_forget(struct wake_order *order)
{
	key_map_release(&order->by_tid);
	key_map_release(&order->by_word);
	order->by_tid = order->by_word = (struct key_map){0};
	order->nr = 0;
}

void wake_order_free(struct wake_order *order)
{
	if (!order)
		return;
	wake_order_forget(order);
	free(order->sleepers);
	free(order);
}

static uint32_t sleeper_of(const struct adding *adding)
{
	struct wake_order *order = adding->order;
	uint32_t index;

	if (key_map_find(&order->by_tid, adding->process, adding->note->tid, &index))
		return index;
	if (order->nr >= SLEEPERS_MAX)
		wake_order_forget(order);
	ARRAY_GROW(order->sleepers, order->nr, order->cap);
	order->sleepers[order->nr] =
		(struct sleeper){.process = adding->process, .tid = adding->note->tid};
	key_map_put(&order->by_tid, adding->process, adding->note->tid, order->nr);
	return order->nr++;
}

/* It does not wait any more. */
static void take_out(struct wake_order *order, uint32_t index)
{
	struct sleeper *sleeper = &order->sleepers[index];
	uint32_t first, next = sleeper->next;

	if (!sleeper->word)
		return;
	if (next == index) {
		key_map_take(&order->by_word, sleeper->process, sleeper->word, &first);
	} else {
		order->sleepers[next].before = sleeper->before;
		order->sleepers[sleeper->before].next = next;
		if (key_map_find(&order->by_word, sleeper->process, sleeper->word, &first) &&
		    first == index)
			key_map_put(&order->by_word, sleeper->process, sleeper->word, next);
	}
	sleeper->word = 0;
}

void wake_order_take_out(struct wake_order *order, uint32_t process, uint32_t tid)
{
	uint32_t index;

	if (key_map_find(&order->by_tid, process, tid, &index))
		take_out(order, index);
}

bool wake_order_waits(const struct wake_order *order, uint32_t process, uint32_t tid, uint64_t word,
		      uint64_t *from)
{
	uint32_t index;

	if (!word || !key_map_find(&order->by_tid, process, tid, &index) ||
	    order->sleepers[index].word != word)
		return false;
	*from = order->sleepers[index].from;
	return true;
}

/* It waits, after all others that do. */
static void put_in(struct wake_order *order, uint32_t index, uint64_t word)
{
	struct sleeper *sleeper = &order->sleepers[index];
	uint32_t first;

	sleeper->word = word;
	if (!key_map_find(&order->by_word, sleeper->process, word, &first)) {
		sleeper->next = sleeper->before = index;
		key_map_put(&order->by_word, sleeper->process, word, index);
		return;
	}
	sleeper->next = first;
	sleeper->before = order->sleepers[first].before;
	order->sleepers[sleeper->before].next = index;
	order->sleepers[first].before = index;
}

static uint32_t longest(const struct adding *adding, uint64_t word)
{
	uint32_t first;

	return key_map_find(&adding->order->by_word, adding->process, word, &first) ? first : NONE;
}

static void wake(const struct adding *adding, uint64_t word, uint32_t nr)
{
	const struct patch_note *note = adding->note;
	uint32_t index;

	for (; nr && (index = longest(adding, word)) != NONE; nr--) {
		const struct sleeper *sleeper = &adding->order->sleepers[index];
		const struct wake_ended ended = {.from = sleeper->from,
						 .to = note->time,
						 .word = word,
						 .caller = note->caller,
						 .tid = sleeper->tid,
						 .waker = note->tid};

		take_out(adding->order, index);
		adding->ended(adding->context, &ended);
	}
}

/* The ends of these waits are not known from here on. */
static void lose(const struct adding *adding, uint64_t word)
{
	uint32_t index;

	while ((index = longest(adding, word)) != NONE)
		take_out(adding->order, index);
}

static void requeue(const struct adding *adding, uint32_t nr)
{
	const struct patch_note *note = adding->note;
	uint32_t index;

	if (note->other_word == note->word || !note->other_word)
		return;
	for (; nr && (index = longest(adding, note->word)) != NONE; nr--) {
		take_out(adding->order, index);
		if (adding->order->nr_moves_left == 0)
			continue;
		adding->order->nr_moves_left--;
		put_in(adding->order, index, note->other_word);
	}
}

void wake_order_add(struct wake_order *order, uint32_t process, const struct patch_note *note,
		    void (*ended)(void *context, const struct wake_ended *ended), void *context)
{
	const struct adding adding = {order, process, note, ended, context};
	uint32_t index;

	if (!note->tid)
		return;
	order->nr_moves_left = (uint32_t)min_u64(order->nr_moves_left + MOVES_OF_NOTE, MOVES_MAX);
	index = sleeper_of(&adding);
	take_out(order, index);
	/* Others may wait for shared memory, and may end waits for it, that make no notes. */
	if (!note->word || !(note->operation & IS_PRIVATE))
		return;
	switch (note->operation & OPERATION) {
	case DOES_WAIT:
	case DOES_WAIT_BITS:
	case DOES_LOCK_PI:
	case DOES_LOCK_PI2:
		order->sleepers[index].from = note->time;
		put_in(order, index, note->word);
		break;
	case DOES_WAKE:
	case DOES_WAKE_BITS:
		wake(&adding, note->word, note->value > INT32_MAX ? 1 : note->value);
		break;
	case DOES_UNLOCK_PI:
		wake(&adding, note->word, 1);
		break;
	case DOES_REQUEUE:
	case DOES_COMPARE:
		wake(&adding, note->word, note->value);
		requeue(&adding, note->other_value);
		break;
	case DOES_WAKE_OP:
		wake(&adding, note->word, note->value);
		lose(&adding, note->other_word);
		break;
	case DOES_WAIT_RQPI:
	case DOES_REQUEUEPI:
		lose(&adding, note->word);
		break;
	}
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Our code in a process, where a sample is taken: of allocations, and what is freed of that. */
#include "probe/heap_blob_priv.h"

/* -- random intervals -- */

static uint64_t next_random(struct heap_slot *slot)
{
	uint64_t x = relaxed_load(&slot->random);

	if (!x) {
		x = cycles() * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)slot;
		x ^= x >> 29;
		x = x * UINT64_C(0xbf58476d1ce4e5b9) | 1;
	}
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	relaxed_store(&slot->random, x);
	return x;
}

/* -log2(x / 2^64), with 16 bits behind the point: one more with each squaring. */
static uint64_t minus_log2(uint64_t x)
{
	int shift = __builtin_clzll(x);
	uint64_t y = x << shift >> 32; /* in [1, 2), with 31 bits behind the point */
	uint64_t fraction = 0;

	for (int i = 15; i >= 0; i--) {
		y = y * y >> 31;
		if (y >> 32) {
			y >>= 1;
			fraction |= UINT64_C(1) << i;
		}
	}
	return ((uint64_t)(shift + 1) << 16) - fraction;
}

static uint64_t mean_now(void)
{
	uint64_t mean = relaxed_load(&shared.mean);

	return !mean ? 1 : mean > HEAP_MEAN_MAX ? HEAP_MEAN_MAX : mean;
}

/* At least 1, so that an allocation of no bytes is not sampled. */
static int64_t draw_interval(struct heap_slot *slot, uint64_t mean)
{
	/* ln 2 is 45426 / 2^16; 30 bits and 30 of the mean make no more than 64. */
	uint64_t x = (minus_log2(next_random(slot) | 1) * 45426 >> 8) * mean >> 24;

	return x >= HEAP_INTERVAL_MAX ? HEAP_INTERVAL_MAX : (int64_t)x + 1;
}

/* -- what is counted -- */

static int64_t units_of(uint64_t size)
{
	return (int64_t)(size << HEAP_COUNT_LOG2) + 1;
}

/*
 * A new countdown in place of one below zero: what that has below it is thrown away. A thread that
 * is faster has done it already.
 */
static void draw(struct heap_slot *slot)
{
	uint64_t mean = mean_now();
	int64_t interval = draw_interval(slot, mean);
	int64_t countdown = relaxed_load(&slot->countdown);
	int64_t left = 0, former;
	uint64_t nr = 0;
	bool is_drawn = false;

	for (int i = 0; i < TRIES_MAX && !is_drawn; i++) {
		left = heap_countdown_bytes(countdown);
		if (left >= 0)
			return;
		nr = heap_countdown_allocations(countdown);
		former = left * (HEAP_COUNT_MASK + 1) - (int64_t)nr;
		is_drawn = exchange(&slot->countdown, &countdown,
				    countdown - former + (interval << HEAP_COUNT_LOG2));
	}
	if (!is_drawn)
		return;
	relaxed_add(&slot->given_bytes, (uint64_t)(interval - left));
	relaxed_add(&slot->nr_allocations, nr);
	relaxed_store(&slot->mean, mean);
}

/*
 * Who has brought the countdown below zero has sampled. While it stands there, or before the
 * slot's first use, other threads throw dice of their own: their bytes will be thrown away.
 */
static bool is_sampled(struct heap_slot *slot, int64_t before, uint64_t size)
{
	bool is = true;

	if (heap_countdown_bytes(before - units_of(size)) >= 0)
		return false;
	if (heap_countdown_bytes(before) < 0 || !relaxed_load(&slot->mean))
		is = (uint64_t)draw_interval(slot, mean_now()) <= size;
	draw(slot);
	return is;
}

static void count(struct request *request)
{
	request->mean = relaxed_load(&request->slot->mean);
	if (!request->mean)
		request->mean = mean_now();
	if (request->size >> HEAP_SIZE_LOG2) {
		request->is_sampled = true; /* and counted if there is so much */
		return;
	}
	if (!request->is_counted)
		request->countdown =
			relaxed_add(&request->slot->countdown, -units_of(request->size));
	request->is_counted = true;
	request->is_sampled = is_sampled(request->slot, request->countdown, request->size);
}

static void uncount(struct request *request)
{
	if (request->is_counted)
		relaxed_add(&request->slot->countdown, units_of(request->size));
}

/* -- which pointers are sampled -- */

static uint64_t *set_of(uint64_t pointer)
{
	uint64_t hash = (pointer >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40;

	return heap_own()->sets[hash % HEAP_SETS];
}

static void count_in_filter(uint64_t pointer, int by)
{
	uint8_t *filter = &heap_own()->filter[(pointer >> 4) % HEAP_FILTER_BYTES];
	uint8_t was = relaxed_load(filter);

	do {
		if (was == UINT8_MAX || (by < 0 && !was))
			return;
	} while (!exchange(filter, &was, (uint8_t)(was + by)));
}

/* False: there is no room for one more. */
static bool remember(uint64_t pointer)
{
	uint64_t *set = set_of(pointer);

	for (int i = 0; i < HEAP_SET_WAYS; i++) {
		if (relaxed_load(&set[i]) == pointer)
			return true; /* it was freed by a way that we do not know */
	}
	for (int i = 0; i < HEAP_SET_WAYS; i++) {
		uint64_t none = 0;

		if (!relaxed_load(&set[i]) && exchange(&set[i], &none, pointer)) {
			count_in_filter(pointer, 1);
			return true;
		}
	}
	return false;
}

static bool forget(uint64_t pointer)
{
	uint64_t *set = set_of(pointer);

	for (int i = 0; pointer && i < HEAP_SET_WAYS; i++) {
		uint64_t wanted = pointer;

		if (relaxed_load(&set[i]) == pointer && exchange(&set[i], &wanted, 0)) {
			count_in_filter(pointer, -1);
			return true;
		}
	}
	return false;
}

/* -- what is sampled and not recorded -- */

/* e^-x, with 32 bits behind the point as x has 30: (1 - x / 2^16)^2^16, of x below 8. */
static uint64_t power_of_minus(uint64_t x)
{
	uint64_t y = (UINT64_C(1) << 32) - (x >> 14);

	for (int i = 0; i < 16; i++)
		y = y * y >> 32;
	return y;
}

/* size / (1 - e^(-size / mean)) */
static uint64_t stands_for(uint64_t size, uint64_t mean)
{
	if (mean > HEAP_MEAN_MAX)
		mean = HEAP_MEAN_MAX;
	if (size / 8 >= mean)
		return size;
	if (size <= mean / 64)
		return mean + size / 2;
	return (size << 30) / (((UINT64_C(1) << 32) - power_of_minus((size << 30) / mean)) >> 2);
}

/* The next one of the thread, or of one that shares its slot, stands for it, too. */
static void carry(const struct request *request)
{
	relaxed_add(&request->slot->carried, stands_for(request->size, request->mean));
}

/* -- the functions -- */

/* What is too large for the countdown counts when there is so much. */
static void count_large(const struct request *request)
{
	relaxed_add(&request->slot->given_bytes, request->size);
	relaxed_add(&request->slot->nr_allocations, 1);
}

/*
 * Pools fail as a matter of course. The countdown stays where it is: were it put back, the next
 * allocation would never be the one that brings it below zero, as this one was asked before.
 */
static void uncount_failed(const struct request *request)
{
	if (!request->is_counted)
		return;
	relaxed_add(&request->slot->given_bytes, -request->size);
	relaxed_add(&request->slot->nr_allocations, -UINT64_C(1));
}

/* That a block is freed can be told of so many: there may be too many already. */
static void record_sampled(const struct request *request, uint64_t pointer)
{
	if (!remember(pointer)) {
		relaxed_add(&shared.lost.nr_dropped, 1);
		carry(request);
	} else if (!heap_emit(request, HEAP_RECORD_ALLOCATION, pointer)) {
		forget(pointer);
		carry(request);
	}
}

/* A realloc() has failed. */
static void keep(const struct request *request)
{
	if (remember(request->old))
		heap_emit(request, HEAP_RECORD_KEPT, request->old);
	else
		relaxed_add(&shared.lost.nr_dropped, 1);
}

static void note_result(const struct request *request, uint64_t pointer)
{
	if (!pointer) {
		uncount_failed(request);
		if (request->was_sampled && request->size)
			keep(request);
		return;
	}
	if (!request->is_counted)
		count_large(request);
	if (request->is_sampled)
		record_sampled(request, pointer);
}

struct outcome heap_on_free(struct request *request)
{
	uint64_t pointer = argument(request, request->hook->form.pointer);

	if (forget(pointer))
		heap_emit(request, HEAP_RECORD_FREE, pointer);
	return (struct outcome){.jump = request->hook->original};
}

struct outcome heap_on_allocation(struct request *request)
{
	struct outcome outcome = {.jump = request->hook->original};

	if (!heap_read_arguments(request))
		return outcome;
	if (is_nested(request)) {
		uncount(request);
		return outcome;
	}
	count(request);
	if (!request->is_framed && !request->is_sampled)
		return outcome;
	if (!heap_can_be_called(request)) {
		relaxed_add(&shared.lost.nr_dropped, 1);
		return outcome;
	}
	request->was_sampled = request->old && forget(request->old);
	if (request->was_sampled)
		heap_emit(request, HEAP_RECORD_FREE, request->old);
	outcome.result = heap_call_original(request);
	note_result(request, heap_pointer_of(request, outcome.result));
	if (!throws(request) || outcome.result)
		outcome.jump = 0;
	return outcome;
}

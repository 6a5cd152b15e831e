// SPDX-License-Identifier: GPL-2.0-or-later
/* The blob when it samples: it records sampled allocations, and their frees. */
#include "heap/heap_blob_priv.h"

/* -- random intervals -- */

static uint64_t next_random(struct heap_slot *slot)
{
	uint64_t x = relaxed_load(&slot->random);

	if (!x) {
		x = machine_clock() * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)slot;
		x ^= x >> 29;
		x = x * UINT64_C(0xbf58476d1ce4e5b9) | 1;
	}
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	relaxed_store(&slot->random, x);
	return x;
}

/* -log2(x / 2^64) with 16 fractional bits: each squaring gives one more. */
static uint64_t minus_log2(uint64_t x)
{
	int shift = __builtin_clzll(x);
	uint64_t y = x << shift >> 32; /* in [1, 2), with 31 fractional bits */
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

/* A hostile process may have written any mean into shared memory. */
static uint64_t bounded_mean(uint64_t mean)
{
	return !mean ? 1 : mean > HEAP_MEAN_MAX ? HEAP_MEAN_MAX : mean;
}

static uint64_t mean_now(void)
{
	return bounded_mean(relaxed_load(&shared.mean));
}

/* The number of bytes to pass over: the block with the next byte is sampled. */
static int64_t draw_interval(struct heap_slot *slot, uint64_t mean)
{
	/* ln 2 is 45426 / 2^16. The product of 30 bits with 30 of the mean fits into 64. */
	uint64_t x = (minus_log2(next_random(slot) | 1) * 45426 >> 8) * mean >> 24;

	return x >= HEAP_INTERVAL_MAX ? HEAP_INTERVAL_MAX : (int64_t)x;
}

/* -- counting -- */

static int64_t units_of(uint64_t size)
{
	return (int64_t)(size << HEAP_COUNT_LOG2) + 1;
}

static void note_use(const struct heap_slot *slot)
{
	uint64_t number = ((uint64_t)slot - (uint64_t)shared.slots) / sizeof(*slot);
	uint64_t page = UINT64_C(1) << number / HEAP_SLOTS_OF_PAGE % 64;

	if (number < HEAP_SLOTS && !(relaxed_load(&shared.used_pages) & page))
		__atomic_fetch_or(&shared.used_pages, page, __ATOMIC_RELAXED);
}

/*
 * Replaces a countdown below zero; the bytes that it has below zero are thrown away. Another thread
 * may have done it already.
 */
static void draw(struct heap_slot *slot)
{
	uint64_t mean = mean_now();
	int64_t interval = draw_interval(slot, mean);
	int64_t countdown = relaxed_load(&slot->countdown);
	int64_t left = 0, former;
	uint64_t nr = 0;
	bool is_drawn = false;

	note_use(slot);
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
 * The allocation that brings the countdown below zero is sampled. Until a new one is drawn, and
 * before the slot's first use, other threads draw for themselves, as their bytes will be thrown
 * away.
 */
static bool is_chosen(struct request *request)
{
	struct heap_slot *slot = request->slot;
	bool is = true;

	if (heap_countdown_bytes(request->countdown - units_of(request->size)) >= 0)
		return false;
	if (heap_countdown_bytes(request->countdown) < 0 || !relaxed_load(&slot->mean)) {
		request->mean = mean_now();
		is = (uint64_t)draw_interval(slot, request->mean) < request->size;
	}
	draw(slot);
	return is;
}

/* -- leaving out chosen blocks -- */

/* e^-x for x < 8, as (1 - x / 2^16)^2^16. x has 30 fractional bits, the result has 32. */
static uint64_t power_of_minus(uint64_t x)
{
	uint64_t y = (UINT64_C(1) << 32) - (x >> 14);

	for (int i = 0; i < 16; i++)
		y = y * y >> 32;
	return y;
}

/* The bytes that a sampled block represents: size / (1 - e^(-size / mean)). */
static uint64_t represented(uint64_t size, uint64_t mean)
{
	if (size / 8 >= mean)
		return size;
	if (size <= mean / 4)
		return mean + size / 2 + size * size / (12 * mean);
	return (size << 30) / (((UINT64_C(1) << 32) - power_of_minus((size << 30) / mean)) >> 2);
}

/*
 * While a quarter of the room is used or less, all chosen blocks are recorded. The rest of the room
 * has HEAP_ROOM_PARTS equal parts, and the mean doubles from each to the next. So the blocks of
 * each part represent twice as many bytes as those of the part before, and no few blocks represent
 * most.
 */
static uint64_t mean_for(uint64_t mean, uint64_t room, uint64_t left)
{
	uint64_t most = room / 4 * 3;
	uint64_t parts = left < most ? (most - left) * HEAP_ROOM_PARTS * 256 / most : 0;

	mean = (mean << (parts >> 8)) * (256 + (parts & 255)) / 256;
	return bounded_mean(mean);
}

/* The mean for the room that is left in the ring and in the table of pointers. */
static uint64_t mean_with_room(const struct request *request)
{
	uint64_t nr = relaxed_load(&heap_own()->nr_remembered);
	uint64_t by_ring =
		mean_for(request->mean, heap_room_bytes(request), heap_room_left(request));
	uint64_t by_pointers = mean_for(request->mean, HEAP_POINTERS_MAX,
					nr < HEAP_POINTERS_MAX ? HEAP_POINTERS_MAX - nr : 0);

	return by_ring > by_pointers ? by_ring : by_pointers;
}

/*
 * When the ring or the table of pointers begins to fill, a random number decides whether a chosen
 * block is recorded. Its chance is that of a larger mean, and the record has that mean. To record
 * each block that finds room would be biased: more room is free after slow code, so blocks that are
 * allocated after slow code would be recorded too often.
 */
static bool is_recorded(struct request *request)
{
	uint64_t mean = mean_with_room(request), size = request->size;
	uint64_t dice = next_random(request->slot) >> 35;
	/* Small numbers are scaled up, as a rounded fraction would change the chance. */
	int shift = (mean | size) >> 22 ? 0 : 8;

	if (mean == request->mean)
		return true;
	if (dice * represented(size << shift, mean << shift) >=
	    represented(size << shift, request->mean << shift) << 29) {
		relaxed_add(&shared.lost.nr_dropped, 1);
		return false;
	}
	request->mean = mean;
	return true;
}

static void count(struct request *request)
{
	uint64_t mean = relaxed_load(&request->slot->mean);

	request->mean = mean ? bounded_mean(mean) : mean_now();
	if (request->size >> HEAP_SIZE_LOG2) {
		request->is_sampled = true; /* counted once it has succeeded */
		return;
	}
	if (!request->is_counted)
		request->countdown =
			relaxed_add(&request->slot->countdown, -units_of(request->size));
	request->is_counted = true;
	request->is_sampled = is_chosen(request) && is_recorded(request);
}

static void uncount(struct request *request)
{
	if (request->is_counted)
		relaxed_add(&request->slot->countdown, units_of(request->size));
}

/* -- the set of sampled pointers -- */

/* A pointer has two sets, and goes into the one with more free places. */
#define SETS_OF_EACH 2

static uint64_t *set_of(uint64_t pointer, int which)
{
	uint64_t hash = (pointer >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (which ? 20 : 40);

	return heap_own()->sets[hash % HEAP_SETS];
}

static uint8_t *filter_of(uint64_t pointer)
{
	return &heap_own()->filter[(pointer >> 4) % HEAP_FILTER_BYTES];
}

static void count_in_filter(uint64_t pointer, int by)
{
	uint8_t *filter = filter_of(pointer);
	uint8_t was = relaxed_load(filter);

	do {
		if (was == UINT8_MAX || (by < 0 && !was))
			return;
	} while (!exchange(filter, &was, (uint8_t)(was + by)));
}

/* Replace one `former` in the set by `latter`; false if there is none. */
static bool replace_pointer(uint64_t *set, uint64_t former, uint64_t latter)
{
	for (int i = 0; i < HEAP_SET_WAYS; i++) {
		uint64_t wanted = former;

		if (relaxed_load(&set[i]) == former && exchange(&set[i], &wanted, latter))
			return true;
	}
	return false;
}

/* The number of places in the set that hold the pointer; with 0, the number of free places. */
static int nr_in_set(const uint64_t *set, uint64_t pointer)
{
	int nr = 0;

	for (int i = 0; i < HEAP_SET_WAYS; i++)
		nr += relaxed_load(&set[i]) == pointer;
	return nr;
}

/* False: there is no room for it. */
static bool remember(uint64_t pointer)
{
	uint64_t *first = set_of(pointer, 0), *second = set_of(pointer, 1);
	bool is_first_better = nr_in_set(first, 0) >= nr_in_set(second, 0);

	if (nr_in_set(first, pointer) || nr_in_set(second, pointer))
		return true; /* it was freed in a way that we do not know */
	if (!replace_pointer(is_first_better ? first : second, 0, pointer))
		return false;
	relaxed_add(&heap_own()->nr_remembered, 1);
	count_in_filter(pointer, 1);
	return true;
}

/* The sets have 256 pages, each of which costs a fault when it is first looked into. */
static bool forget(uint64_t pointer)
{
	if (!pointer || !relaxed_load(filter_of(pointer)))
		return false;
	for (int i = 0; i < SETS_OF_EACH; i++) {
		if (replace_pointer(set_of(pointer, i), pointer, 0)) {
			relaxed_add(&heap_own()->nr_remembered, -UINT64_C(1));
			count_in_filter(pointer, -1);
			return true;
		}
	}
	return false;
}

/* -- the functions -- */

/* Sizes that do not fit into the countdown count once the allocation has succeeded. */
static void count_large(const struct request *request)
{
	note_use(request->slot);
	relaxed_add(&request->slot->given_bytes, request->size);
	relaxed_add(&request->slot->nr_allocations, 1);
}

/*
 * Pools often fail. The countdown is not put back: the next allocation of that size could never
 * bring it below zero, as this one did not.
 */
static void uncount_failed(const struct request *request)
{
	if (!request->is_counted)
		return;
	relaxed_add(&request->slot->given_bytes, -request->size);
	relaxed_add(&request->slot->nr_allocations, -UINT64_C(1));
}

/* A block is recorded only if its pointer can be kept: else its free would be missed. */
static void record_sampled(const struct request *request, uint64_t pointer)
{
	if (!remember(pointer)) {
		relaxed_add(&shared.lost.nr_dropped, 1);
	} else if (!heap_emit(request, HEAP_RECORD_ALLOCATION, pointer)) {
		forget(pointer);
	}
}

/* realloc() has failed: the old block lives on. */
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

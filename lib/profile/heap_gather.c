// SPDX-License-Identifier: GPL-2.0-or-later
/* Reduces blocks that are allocated and freed to fewer rows with the same sums. */
#include "profile/heap_gather.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/index_set.h"
#include "base/minmax.h"
#include "profile/map_rows.h"
#include "profile/profile.h"

#define NONE	  UINT32_MAX
#define FIRST_CAP 1024
#define MOVED_MAX 16 /* threads that are in realloc() at the same time */
/* In struct place: `at` is the number of a block without a row; otherwise it is a row. */
#define WITHOUT_ROW UINT32_C(0x80000000)

/* Which blocks are alive, by process and address: open addressing, at most half full. */
struct place {
	uint64_t address; /* 0: none */
	uint32_t process;
	uint32_t at;
};

/* A block that has no row yet. */
struct pending {
	struct heap_block block;
	uint64_t number;  /* in the order of allocations */
	uint64_t born_ns; /* of its first block, before any realloc() */
	uint32_t former;  /* as in its row */
	uint32_t next_unused;
};

struct sums {
	uint64_t nr, size_bytes, life_ns;
};

/* Freed blocks that are alike, for one row. */
struct group {
	struct thread_id thread, freed_by;
	struct stack_id stack;
	uint8_t kind, end, decade;
	bool is_moved, is_part; /* realloc() freed it; its former part was not recorded */
	uint64_t time_ns;	/* the first of them */
	uint64_t nr_peaks;	/* the peak that at_peak belongs to */
	struct sums at_peak;	/* alive then, */
	struct sums others;	/* or not */
};

/*
 * A block that realloc() has freed: it is kept if that fails, or else continues as another block.
 */
struct moved {
	struct pending pending;
	struct heap_freed by;
	uint32_t row;
	bool is_there;
};

struct heap_gather {
	struct profile *profile;
	struct place *places; /* owned, as all of these */
	size_t nr_places, cap_places;
	struct pending *pending;
	size_t nr_pending, cap_pending;
	uint32_t unused; /* the first of a list of free places; or NONE */
	struct group *groups;
	size_t nr_groups, cap_groups;
	struct index_set by_likeness;
	struct map_rows maps;
	uint64_t last_ns;
	uint64_t nr_blocks, alive_bytes;
	/* Since the last flush: the moment with most bytes, by the last block allocated until then.
	 */
	struct {
		uint64_t alive_bytes, number, time_ns, nr;
	} peak;
	struct moved moved[MOVED_MAX];
	uint32_t next_moved; /* the next to be replaced */
};

struct heap_gather *heap_gather_new(struct profile *profile)
{
	struct heap_gather *gather = xcalloc(1, sizeof(*gather));

	gather->profile = profile;
	gather->unused = NONE;
	return gather;
}

void heap_gather_release(struct heap_gather *gather)
{
	if (!gather)
		return;
	free(gather->places);
	free(gather->pending);
	free(gather->groups);
	index_set_release(&gather->by_likeness);
	map_rows_release(&gather->maps);
	free(gather);
}

/* --- places --- */

/* Allocators return adjacent blocks, so the places for a KiB of addresses are adjacent, too. */
static size_t home_of(const struct heap_gather *gather, uint32_t process, uint64_t address)
{
	return (hash_mix(process, address >> 10) * 64 + (address >> 4) % 64) &
	       (gather->cap_places - 1);
}

/* Its place, or the place where it would be added. */
static struct place *find(const struct heap_gather *gather, uint32_t process, uint64_t address)
{
	struct place *places = gather->places;
	size_t at = home_of(gather, process, address);

	while (places[at].address &&
	       (places[at].address != address || places[at].process != process))
		at = (at + 1) & (gather->cap_places - 1);
	return &places[at];
}

static void need_room(struct heap_gather *gather)
{
	struct place *old = gather->places;
	size_t nr_old = gather->cap_places;

	if (2 * (gather->nr_places + 1) <= nr_old)
		return;
	gather->cap_places = nr_old ? 2 * nr_old : FIRST_CAP;
	gather->places = xcalloc(gather->cap_places, sizeof(*gather->places));
	for (size_t i = 0; i < nr_old; i++) {
		if (old[i].address)
			*find(gather, old[i].process, old[i].address) = old[i];
	}
	free(old);
}

/* Move up later entries that the removed one displaced, so that no search ends too early. */
static void close_gap(struct heap_gather *gather, size_t gap)
{
	struct place *places = gather->places;
	size_t mask = gather->cap_places - 1;

	for (size_t at = (gap + 1) & mask; places[at].address; at = (at + 1) & mask) {
		size_t home = home_of(gather, places[at].process, places[at].address);

		if (((at - home) & mask) < ((at - gap) & mask))
			continue;
		places[gap] = places[at];
		gap = at;
	}
	places[gap].address = 0;
}

/* NONE: it is not there. */
static uint32_t take(struct heap_gather *gather, uint32_t process, uint64_t address)
{
	struct place *place;
	uint32_t at;

	if (!gather->cap_places)
		return NONE;
	place = find(gather, process, address);
	if (!place->address)
		return NONE;
	at = place->at;
	gather->nr_places--;
	close_gap(gather, (size_t)(place - gather->places));
	return at;
}

static void put(struct heap_gather *gather, uint32_t process, uint64_t address, uint32_t at)
{
	need_room(gather);
	*find(gather, process, address) =
		(struct place){.address = address, .process = process, .at = at};
	gather->nr_places++;
}

/* --- blocks without a row --- */

static uint32_t add_pending(struct heap_gather *gather, const struct pending *pending)
{
	uint32_t at = gather->unused;

	if (at == NONE) {
		ARRAY_GROW(gather->pending, gather->nr_pending, gather->cap_pending);
		at = (uint32_t)gather->nr_pending++;
	} else {
		gather->unused = gather->pending[at].next_unused;
	}
	gather->pending[at] = *pending;
	return at;
}

static void remove_pending(struct heap_gather *gather, uint32_t at)
{
	gather->pending[at].number = 0;
	gather->pending[at].next_unused = gather->unused;
	gather->unused = at;
}

/* --- blocks that were freed --- */

static bool is_alike(const void *context, uint32_t index, const void *key)
{
	const struct heap_gather *gather = context;
	const struct group *a = &gather->groups[index];
	const struct group *b = key;

	return a->thread.v == b->thread.v && a->freed_by.v == b->freed_by.v &&
	       a->stack.v == b->stack.v && a->kind == b->kind && a->end == b->end &&
	       a->decade == b->decade && a->is_moved == b->is_moved && a->is_part == b->is_part;
}

static struct group *group_of(struct heap_gather *gather, const struct group *like)
{
	uint64_t hash =
		hash_mix(hash_mix(like->stack.v, (uint64_t)like->thread.v << 32 | like->freed_by.v),
			 (uint64_t)like->kind << 16 | (uint64_t)like->end << 8 | like->decade |
				 (uint64_t)like->is_moved << 32 | (uint64_t)like->is_part << 33);
	uint32_t at = index_set_find(&gather->by_likeness, hash, is_alike, gather, like);

	if (at == INDEX_NONE) {
		ARRAY_GROW(gather->groups, gather->nr_groups, gather->cap_groups);
		at = (uint32_t)gather->nr_groups++;
		gather->groups[at] = *like;
		index_set_add(&gather->by_likeness, hash, at);
	}
	return &gather->groups[at];
}

/* Lives below 1 us, 10 us, ... 10 s, and longer ones: the classes of the views. */
static uint8_t decade_of(uint64_t life_ns)
{
	uint8_t decade = 0;

	for (uint64_t limit_ns = 1000; decade < 8 && life_ns >= limit_ns; limit_ns *= 10)
		decade++;
	return decade;
}

static void add_sums(struct sums *sums, const struct sums *more)
{
	sums->nr += more->nr;
	sums->size_bytes += more->size_bytes;
	sums->life_ns += more->life_ns;
}

/* Blocks alive at a former, lower peak are like all others. */
static void come_to_peak(const struct heap_gather *gather, struct group *group)
{
	if (group->nr_peaks == gather->peak.nr)
		return;
	add_sums(&group->others, &group->at_peak);
	group->at_peak = (struct sums){0};
	group->nr_peaks = gather->peak.nr;
}

static void end_pending(struct heap_gather *gather, const struct pending *pending,
			const struct heap_freed *freed, bool is_moved)
{
	const struct heap_block *block = &pending->block;
	uint64_t life_ns = freed->time_ns - min_u64(freed->time_ns, pending->born_ns);
	struct sums one = {.nr = 1, .size_bytes = block->size_bytes, .life_ns = life_ns};
	struct group *group =
		group_of(gather, &(struct group){.thread = block->thread,
						 .freed_by = freed->thread,
						 .stack = block->stack,
						 .kind = block->kind,
						 .end = block->end,
						 .decade = decade_of(life_ns),
						 .is_moved = is_moved,
						 .is_part = pending->former == FORMER_UNKNOWN,
						 .time_ns = block->time_ns,
						 .nr_peaks = gather->peak.nr});

	come_to_peak(gather, group);
	add_sums(pending->number <= gather->peak.number ? &group->at_peak : &group->others, &one);
}

/*
 * The times of records are only as exact as the last one that had its own. A row that was alive at
 * the peak, as the order of records tells, is so by its times, too; also in a file, where the time
 * and the life are both rounded down.
 */
static void end_row(struct heap_gather *gather, uint32_t row, const struct heap_freed *freed)
{
	uint64_t after_ns = gather->peak.time_ns + 2 * SAMPLE_TIME_GRAIN_NS;

	if (freed->time_ns >= after_ns) {
		profile_free_allocation(gather->profile, row, freed->time_ns, freed->thread);
		return;
	}
	profile_free_allocation(gather->profile, row, after_ns, freed->thread);
	/* Blocks that are allocated after it was freed are not alive together with it. */
	gather->last_ns = max_u64(gather->last_ns, after_ns);
}

static void end_moved(struct heap_gather *gather, struct moved *moved)
{
	if (!moved->is_there)
		return;
	moved->is_there = false;
	if (moved->row == NONE) {
		end_pending(gather, &moved->pending, &moved->by, true);
		return;
	}
	end_row(gather, moved->row, &moved->by);
	profile_move_allocation(gather->profile, moved->row);
}

/* NULL: it is not known. */
static struct moved *find_moved(struct heap_gather *gather, uint32_t process, uint64_t address)
{
	for (size_t i = 0; i < MOVED_MAX; i++) {
		struct moved *moved = &gather->moved[i];

		if (moved->is_there && moved->by.process == process && moved->by.address == address)
			return moved;
	}
	return NULL;
}

/* The block that realloc() made this one of. */
static void inherit(struct heap_gather *gather, struct pending *pending)
{
	struct moved *moved =
		find_moved(gather, pending->block.process, pending->block.old_address);

	if (!moved) {
		pending->former = FORMER_UNKNOWN;
		return;
	}
	if (moved->row == NONE) {
		pending->born_ns = moved->pending.born_ns;
		pending->former = moved->pending.former;
	} else {
		pending->born_ns = gather->profile->heap.allocations[moved->row].time_ns;
		pending->former = moved->row + 1;
	}
	end_moved(gather, moved);
}

static void note_peak(struct heap_gather *gather, uint64_t time_ns)
{
	if (gather->alive_bytes <= gather->peak.alive_bytes)
		return;
	gather->peak.alive_bytes = gather->alive_bytes;
	gather->peak.number = gather->nr_blocks;
	gather->peak.time_ns = time_ns;
	gather->peak.nr++;
}

void heap_gather_expect(const struct heap_gather *gather, uint32_t process, uint64_t address)
{
	if (gather->cap_places)
		__builtin_prefetch(&gather->places[home_of(gather, process, address)]);
}

void heap_gather_expect_soon(const struct heap_gather *gather, uint32_t process, uint64_t address)
{
	const struct place *place = gather->cap_places ? find(gather, process, address) : NULL;

	if (!place || !place->address)
		return;
	if (place->at & WITHOUT_ROW)
		__builtin_prefetch(&gather->pending[place->at & ~WITHOUT_ROW]);
	else
		__builtin_prefetch(&gather->profile->heap.allocations[place->at]);
}

void heap_gather_add(struct heap_gather *gather, const struct heap_block *block)
{
	struct pending pending = {.block = *block};

	heap_gather_free(gather, &(struct heap_freed){.process = block->process,
						      .address = block->address,
						      .time_ns = block->time_ns,
						      .thread = THREAD_NONE});
	gather->last_ns = max_u64(gather->last_ns, block->time_ns);
	pending.block.time_ns = pending.born_ns = gather->last_ns;
	if (block->old_address)
		inherit(gather, &pending);
	pending.number = ++gather->nr_blocks;
	put(gather, block->process, block->address, add_pending(gather, &pending) | WITHOUT_ROW);
	gather->alive_bytes += block->size_bytes;
	note_peak(gather, gather->last_ns);
}

void heap_gather_free(struct heap_gather *gather, const struct heap_freed *freed)
{
	uint32_t at = take(gather, freed->process, freed->address);

	if (at == NONE)
		return;
	if (at & WITHOUT_ROW) {
		struct pending pending = gather->pending[at & ~WITHOUT_ROW];

		remove_pending(gather, at & ~WITHOUT_ROW);
		gather->alive_bytes -= pending.block.size_bytes;
		end_pending(gather, &pending, freed, false);
		return;
	}
	gather->alive_bytes -= gather->profile->heap.allocations[at].size_bytes;
	end_row(gather, at, freed);
}

void heap_gather_free_to_move(struct heap_gather *gather, const struct heap_freed *freed)
{
	uint32_t at = take(gather, freed->process, freed->address);
	struct moved *moved = &gather->moved[gather->next_moved];

	if (at == NONE)
		return;
	gather->next_moved = (gather->next_moved + 1) % MOVED_MAX;
	end_moved(gather, moved);
	moved->is_there = true;
	moved->by = *freed;
	moved->row = at & WITHOUT_ROW ? NONE : at;
	if (at & WITHOUT_ROW) {
		moved->pending = gather->pending[at & ~WITHOUT_ROW];
		remove_pending(gather, at & ~WITHOUT_ROW);
		gather->alive_bytes -= moved->pending.block.size_bytes;
	} else {
		gather->alive_bytes -= gather->profile->heap.allocations[at].size_bytes;
	}
}

void heap_gather_keep(struct heap_gather *gather, uint32_t process, uint64_t address)
{
	struct moved *moved = find_moved(gather, process, address);

	if (!moved)
		return;
	/* Another block at that address proves that it was moved. */
	if (gather->cap_places && find(gather, process, address)->address) {
		end_moved(gather, moved);
		return;
	}
	moved->is_there = false;
	put(gather, process, address,
	    moved->row == NONE ? add_pending(gather, &moved->pending) | WITHOUT_ROW : moved->row);
	gather->alive_bytes += moved->row == NONE
				       ? moved->pending.block.size_bytes
				       : gather->profile->heap.allocations[moved->row].size_bytes;
}

/* --- mappings --- */

uint32_t heap_gather_add_map(struct heap_gather *gather, const struct profile_allocation *row)
{
	struct profile_allocation own = *row;

	gather->last_ns = max_u64(gather->last_ns, row->time_ns);
	own.time_ns = gather->last_ns;
	gather->nr_blocks++;
	gather->alive_bytes += row->size_bytes;
	note_peak(gather, gather->last_ns);
	return map_rows_add(&gather->maps, &own);
}

void heap_gather_free_map(struct heap_gather *gather, uint32_t number, uint64_t time_ns,
			  struct thread_id thread, bool is_moved)
{
	gather->alive_bytes -=
		map_rows_free(&gather->maps, gather->profile, number, time_ns, thread, is_moved);
}

/* --- rows --- */

struct made_row {
	struct profile_allocation row;
	uint64_t address; /* of a block that is still alive; 0: none */
	uint32_t process;
	uint32_t map; /* from 1 on, in the order of mappings; 0: it is none */
};

static void make_group_row(const struct group *group, const struct sums *sums, uint64_t time_ns,
			   uint64_t freed_ns, struct made_row *made)
{
	*made = (struct made_row){.row = {.time_ns = time_ns,
					  .freed_ns = freed_ns,
					  .size_bytes = sums->size_bytes,
					  .life_ns = sums->life_ns / sums->nr,
					  .nr_more = (uint32_t)min_u64(sums->nr - 1, UINT32_MAX),
					  .thread = group->thread,
					  .freed_by = group->freed_by,
					  .former = group->is_part ? FORMER_UNKNOWN : 0,
					  .is_moved = group->is_moved,
					  .stack = group->stack,
					  .kind = group->kind,
					  .end = group->end}};
}

static size_t make_group_rows(struct heap_gather *gather, struct made_row *made)
{
	uint64_t peak_ns = gather->peak.time_ns;
	size_t nr = 0;

	for (size_t i = 0; i < gather->nr_groups; i++) {
		struct group *group = &gather->groups[i];

		come_to_peak(gather, group);
		if (group->others.nr)
			make_group_row(group, &group->others, group->time_ns,
				       max_u64(group->time_ns, 1), &made[nr++]);
		if (group->at_peak.nr)
			make_group_row(group, &group->at_peak, peak_ns,
				       peak_ns + SAMPLE_TIME_GRAIN_NS, &made[nr++]);
	}
	return nr;
}

/* Without a row. */
static size_t nr_alive(const struct heap_gather *gather)
{
	size_t nr = 0;

	for (size_t i = 0; i < gather->nr_pending; i++)
		nr += gather->pending[i].number != 0;
	return nr;
}

static size_t make_rows_of_alive(const struct heap_gather *gather, struct made_row *made)
{
	size_t nr = 0;

	for (size_t at = 0; at < gather->nr_pending; at++) {
		const struct heap_block *block = &gather->pending[at].block;

		if (!gather->pending[at].number)
			continue;
		made[nr++] = (struct made_row){.row = {.time_ns = block->time_ns,
						       .size_bytes = block->size_bytes,
						       .thread = block->thread,
						       .freed_by = THREAD_NONE,
						       .former = gather->pending[at].former,
						       .stack = block->stack,
						       .kind = block->kind,
						       .end = block->end},
					       .address = block->address,
					       .process = block->process};
	}
	return nr;
}

static size_t make_map_rows(const struct map_rows *maps, struct made_row *made)
{
	for (uint32_t i = 0; i < maps->nr_pending; i++)
		made[i] = (struct made_row){.row = maps->pending[i], .map = i + 1};
	return maps->nr_pending;
}

static int by_time(const void *left, const void *right)
{
	const struct made_row *a = left;
	const struct made_row *b = right;

	if (a->row.time_ns != b->row.time_ns)
		return a->row.time_ns < b->row.time_ns ? -1 : 1;
	return (a->map > b->map) - (a->map < b->map);
}

static void add_rows(struct heap_gather *gather, struct made_row *made, size_t nr)
{
	const struct profile_heap *heap = &gather->profile->heap;

	if (nr)
		qsort(made, nr, sizeof(*made), by_time);
	for (size_t i = 0; i < nr; i++) {
		uint32_t row;

		/* A block that a failed realloc() kept may be older than the last row written. */
		if (heap->nr_allocations)
			made[i].row.time_ns =
				max_u64(made[i].row.time_ns,
					heap->allocations[heap->nr_allocations - 1].time_ns);
		if (made[i].map)
			made[i].row.former = map_rows_former(&gather->maps, made[i].row.former);
		row = profile_add_allocation(gather->profile, &made[i].row);
		if (made[i].map)
			map_rows_made(&gather->maps, row);
		if (made[i].address)
			find(gather, made[i].process, made[i].address)->at = row;
	}
}

void heap_gather_flush(struct heap_gather *gather)
{
	struct made_row *made;
	size_t nr;

	for (size_t i = 0; i < MOVED_MAX; i++)
		end_moved(gather, &gather->moved[i]);
	made = xcalloc(2 * gather->nr_groups + nr_alive(gather) + gather->maps.nr_pending,
		       sizeof(*made));
	nr = make_group_rows(gather, made);
	nr += make_rows_of_alive(gather, made + nr);
	nr += make_map_rows(&gather->maps, made + nr);
	add_rows(gather, made, nr);
	map_rows_end(&gather->maps);
	free(made);
	gather->nr_groups = 0;
	index_set_release(&gather->by_likeness);
	gather->nr_pending = 0;
	gather->unused = NONE;
	/* The peak starts again from the current amount. */
	gather->peak.alive_bytes = gather->alive_bytes;
	gather->peak.number = gather->nr_blocks;
	gather->peak.time_ns = gather->last_ns;
	gather->peak.nr++;
}

bool heap_gather_find(const struct heap_gather *gather, uint32_t process, uint64_t address,
		      uint32_t *row)
{
	const struct place *place = gather->cap_places ? find(gather, process, address) : NULL;

	if (!place || !place->address || place->at & WITHOUT_ROW)
		return false;
	*row = place->at;
	return true;
}

uint32_t heap_gather_map_row(const struct heap_gather *gather, uint32_t number)
{
	return map_rows_former(&gather->maps, number + 1) - 1;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reduces blocks that are allocated and freed to fewer rows with the same sums. Of a block that is
 * alive little is kept: its place in a map, and sixteen bytes. The rest it has in common with the
 * other blocks of its cohort.
 */
#include "profile/heap_gather.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "profile/heap_gather_priv.h"
#include "profile/profile.h"

struct heap_gather *heap_gather_new(struct profile *profile, enum heap_rows policy)
{
	struct heap_gather *gather = xcalloc(1, sizeof(*gather));

	gather->profile = profile;
	gather->policy = policy;
	gather->cohorts.unused = NONE;
	return gather;
}

void heap_gather_release(struct heap_gather *gather)
{
	if (!gather)
		return;
	live_blocks_release(&gather->alive.places);
	free(gather->cohorts.at);
	free(gather->cohorts.fresh);
	index_set_release(&gather->cohorts.by_likeness);
	free(gather->cohorts.ended);
	free(gather->parts.at);
	index_set_release(&gather->parts.by_likeness);
	map_rows_release(&gather->maps);
	free(gather->marks.at_ns);
	free(gather);
}

void heap_gather_mark(struct heap_gather *gather, uint64_t time_ns)
{
	ARRAY_GROW(gather->marks.at_ns, gather->marks.nr, gather->marks.cap);
	gather->marks.at_ns[gather->marks.nr++] = time_ns;
	gather->alike_until_ns = 0;
}

static size_t nr_marks_by(const struct heap_gather *gather, uint64_t time_ns)
{
	size_t nr = gather->marks.nr;

	while (nr && gather->marks.at_ns[nr - 1] > time_ns)
		nr--;
	return nr;
}

/* --- cohorts --- */

static bool is_like(const void *context, uint32_t index, const void *key)
{
	const struct heap_gather *gather = context;
	const struct likeness *a = &gather->cohorts.at[gather->cohorts.fresh[index]].like;
	const struct likeness *b = key;

	return a->size_bytes == b->size_bytes && a->alone == b->alone && a->slice == b->slice &&
	       a->nr_marks == b->nr_marks && a->thread.v == b->thread.v &&
	       a->stack.v == b->stack.v && a->former == b->former && a->kind == b->kind &&
	       a->end == b->end;
}

static uint32_t new_cohort(struct heap_gather *gather)
{
	uint32_t at = gather->cohorts.unused;

	if (at == NONE) {
		ARRAY_GROW(gather->cohorts.at, gather->cohorts.nr, gather->cohorts.cap);
		return (uint32_t)gather->cohorts.nr++;
	}
	gather->cohorts.unused = gather->cohorts.at[at].next_unused;
	return at;
}

static bool is_plain(const struct likeness *like)
{
	return !like->size_bytes && !like->alone &&
	       (!like->former || like->former == FORMER_UNKNOWN);
}

/* Among the fresh ones. */
static uint32_t search_cohort(struct heap_gather *gather, const struct likeness *like)
{
	uint64_t rest = like->alone ^ like->size_bytes ^ like->slice << 40 ^ like->nr_marks << 16 ^
			(uint64_t)like->former << 24 ^ (uint64_t)like->kind << 8 ^ like->end;
	uint64_t hash = hash_mix((uint64_t)like->stack.v << 32 | like->thread.v, rest);
	uint32_t at = index_set_find(&gather->cohorts.by_likeness, hash, is_like, gather, like),
		 cohort;

	if (at != INDEX_NONE)
		return at;
	cohort = new_cohort(gather);
	gather->cohorts.at[cohort] = (struct cohort){.like = *like,
						     .is_plain = is_plain(like),
						     .begun_ns = like->slice << SLICE_LOG2,
						     .nr_peaks = gather->peak.nr,
						     .rows = {NONE, NONE}};
	ARRAY_GROW(gather->cohorts.fresh, gather->cohorts.nr_fresh, gather->cohorts.cap_fresh);
	gather->cohorts.fresh[gather->cohorts.nr_fresh] = cohort;
	index_set_add(&gather->cohorts.by_likeness, hash, (uint32_t)gather->cohorts.nr_fresh);
	return (uint32_t)gather->cohorts.nr_fresh++;
}

/* Without rows. */
static uint32_t cohort_of(struct heap_gather *gather, const struct likeness *like)
{
	/* Most are like one of the last: that spares the search. */
	uint32_t *recent = &gather->cohorts.recent[like->stack.v % RECENT];

	if (*recent >= gather->cohorts.nr_fresh || !is_like(gather, *recent, like))
		*recent = search_cohort(gather, like);
	return gather->cohorts.fresh[*recent];
}

/* --- blocks --- */

static uint64_t size_of(const struct heap_gather *gather, const struct live_block *block)
{
	return block->size == UINT32_MAX ? gather->cohorts.at[block->cohort].like.size_bytes
					 : block->size;
}

static uint64_t born_ns(const struct heap_gather *gather, const struct live_block *block)
{
	return gather->cohorts.at[block->cohort].begun_ns + (uint64_t)block->born * BIRTH_GRAIN_NS;
}

static bool was_at_peak(const struct heap_gather *gather, const struct live_block *block)
{
	return block->number <= gather->peak.number;
}

/* Of a cohort that has no rows: in or out. */
static void count(struct heap_gather *gather, const struct live_block *block, int nr)
{
	struct cohort *cohort = &gather->cohorts.at[block->cohort];
	struct born *born;

	come_to_peak(gather, cohort);
	born = was_at_peak(gather, block) ? &cohort->at_peak : &cohort->later;
	born->nr += (uint64_t)nr;
	born->size_bytes += (uint64_t)nr * size_of(gather, block);
	cohort->nr_alive += (uint64_t)nr;
}

/* Its row; NONE: it has none yet. */
static uint32_t row_of(const struct heap_gather *gather, const struct live_block *block)
{
	const struct cohort *cohort;

	if (block->cohort == NONE)
		return block->number;
	cohort = &gather->cohorts.at[block->cohort];
	return cohort->has_rows ? cohort->rows[block->number > cohort->last_number] : NONE;
}

/* --- blocks that were freed --- */

static bool is_part(const void *context, uint32_t index, const void *key)
{
	const struct heap_gather *gather = context;
	const struct part_likeness *a = &gather->parts.at[index].like;
	const struct part_likeness *b = key;

	return a->cohort == b->cohort && a->row == b->row && a->nr_marks == b->nr_marks &&
	       a->freed_by.v == b->freed_by.v && a->decade == b->decade &&
	       a->is_moved == b->is_moved;
}

static uint32_t search_part(struct heap_gather *gather, const struct part_likeness *like)
{
	uint64_t hash = hash_mix((uint64_t)like->cohort << 32 | like->row,
				 (uint64_t)like->freed_by.v << 32 ^ like->nr_marks << 8 ^
					 (uint64_t)like->decade << 1 ^ like->is_moved);
	uint32_t at = index_set_find(&gather->parts.by_likeness, hash, is_part, gather, like);

	if (at == INDEX_NONE) {
		ARRAY_GROW(gather->parts.at, gather->parts.nr, gather->parts.cap);
		at = (uint32_t)gather->parts.nr++;
		gather->parts.at[at] = (struct part){.like = *like, .time_ns = UINT64_MAX};
		index_set_add(&gather->parts.by_likeness, hash, at);
	}
	return at;
}

static struct part *part_of(struct heap_gather *gather, const struct part_likeness *like)
{
	uint32_t *recent = &gather->parts.recent[(8 * like->cohort ^ like->decade) % RECENT];

	if (*recent >= gather->parts.nr || !is_part(gather, *recent, like))
		*recent = search_part(gather, like);
	return &gather->parts.at[*recent];
}

/*
 * Lives below 1 us, 10 us, ... 10 s, and longer ones: the classes of the views. By the number of
 * bits, as a processor would often predict the branches of a search wrongly.
 */
static uint8_t decade_of(uint64_t life_ns)
{
	static const uint64_t limits_ns[] = {1000,	 10 * 1000,	 100 * 1000,
					     NS_PER_MS,	 10 * NS_PER_MS, 100 * NS_PER_MS,
					     NS_PER_SEC, 10 * NS_PER_SEC};
	/* log10(2) is 1233 / 4096. It is this or the next one, as that of 999 and 1000 shows. */
	uint32_t log10 = (uint32_t)(63 - __builtin_clzll(life_ns | 1)) * 1233 >> 12;
	uint64_t decade = min_u64(log10 - min_u64(log10, 2), ARRAY_SIZE(limits_ns) - 1);

	return (uint8_t)(decade + (life_ns >= limits_ns[decade]));
}

/*
 * One that has no row, and is not followed any further, is like those that are new: what it was
 * made of stays with its life.
 */
static uint32_t plain_cohort(struct heap_gather *gather, uint32_t cohort)
{
	struct likeness like;

	if (gather->cohorts.at[cohort].is_plain)
		return cohort;
	like = gather->cohorts.at[cohort].like;
	like.size_bytes = like.alone = 0;
	if (like.former != FORMER_UNKNOWN)
		like.former = 0;
	return cohort_of(gather, &like);
}

/*
 * The times of records are only as exact as the last one that had its own. A row that was alive at
 * the peak, as the order of records tells, is so by its times, too; also in a file, where the time
 * and the life are both rounded down. Blocks that are allocated after that are not alive together
 * with it.
 */
static uint64_t end_of_row(struct heap_gather *gather, uint64_t freed_ns)
{
	freed_ns = max_u64(freed_ns, gather->peak.time_ns + APART_NS);
	gather->last_ns = max_u64(gather->last_ns, freed_ns);
	return freed_ns;
}

/* A block with a cohort. */
static void add_to_part(struct heap_gather *gather, const struct live_block *block,
			const struct heap_freed *freed, bool is_moved)
{
	uint32_t row = row_of(gather, block);
	uint64_t since_ns = born_ns(gather, block);
	uint64_t life_ns = freed->time_ns - min_u64(freed->time_ns, since_ns);
	uint64_t freed_ns = row == NONE ? freed->time_ns : end_of_row(gather, freed->time_ns);
	struct part *part = part_of(
		gather,
		&(struct part_likeness){.cohort = row == NONE ? plain_cohort(gather, block->cohort)
							      : block->cohort,
					.row = row,
					.nr_marks = row == NONE ? 0 : nr_marks_by(gather, freed_ns),
					.freed_by = freed->thread,
					.decade = decade_of(life_ns),
					.is_moved = is_moved});

	part->time_ns = min_u64(part->time_ns, since_ns);
	part_comes_to_peak(gather, part);
	add_sums(row != NONE || was_at_peak(gather, block) ? &part->at_peak : &part->others,
		 &(const struct sums){.nr = 1,
				      .size_bytes = size_of(gather, block),
				      .life_ns = life_ns,
				      .first_ns = freed_ns});
}

static void end_block(struct heap_gather *gather, const struct live_block *block,
		      const struct heap_freed *freed, bool is_moved)
{
	if (block->cohort == NONE)
		heap_gather_end_row(gather->profile, block->number, freed, is_moved);
	else
		add_to_part(gather, block, freed, is_moved);
}

/* Into the sums of those that are alive. */
static void enter(struct heap_gather *gather, const struct live_block *block)
{
	if (block->cohort == NONE)
		return;
	gather->alive.bytes += size_of(gather, block);
	if (gather->cohorts.at[block->cohort].has_rows)
		gather->cohorts.at[block->cohort].nr_alive++;
	else
		count(gather, block, 1);
}

static void leave(struct heap_gather *gather, const struct live_block *block)
{
	struct cohort *cohort;

	if (block->cohort == NONE)
		return;
	gather->alive.bytes -= size_of(gather, block);
	cohort = &gather->cohorts.at[block->cohort];
	if (!cohort->has_rows) {
		count(gather, block, -1);
		return;
	}
	if (--cohort->nr_alive == 0) {
		ARRAY_GROW(gather->cohorts.ended, gather->cohorts.nr_ended,
			   gather->cohorts.cap_ended);
		gather->cohorts.ended[gather->cohorts.nr_ended++] = block->cohort;
	}
}

/* Where it was is known no more. False: it is not there. */
static bool take_place(struct heap_gather *gather, const struct heap_freed *freed,
		       struct live_block *block)
{
	return live_blocks_take(&gather->alive.places, freed->process, freed->address, block);
}

/* True: `former` was there. */
static bool put_in(struct heap_gather *gather, uint32_t process, uint64_t address,
		   const struct live_block *block, struct live_block *former)
{
	bool was_there = live_blocks_put(&gather->alive.places, process, address, block, former);

	enter(gather, block);
	return was_there;
}

static void end_moved(struct heap_gather *gather, struct moved *moved)
{
	if (!moved->is_there)
		return;
	moved->is_there = false;
	leave(gather, &moved->block);
	end_block(gather, &moved->block, &moved->by, true);
}

/* The last one at that address; NULL: it is not known. */
static struct moved *find_moved(struct heap_gather *gather, uint32_t process, uint64_t address)
{
	for (uint32_t i = 1; i <= MOVED_MAX; i++) {
		struct moved *moved = &gather->moved[(gather->next_moved - i) % MOVED_MAX];

		if (moved->is_there && moved->by.process == process && moved->by.address == address)
			return moved;
	}
	return NULL;
}

/* The block that realloc() made a new one of: what is in its row. Returns when that was born. */
static uint64_t inherit(struct heap_gather *gather, const struct heap_block *block,
			uint32_t *former)
{
	struct moved *moved = find_moved(gather, block->process, block->old_address);
	uint64_t since_ns;
	uint32_t row;

	if (!moved) {
		*former = FORMER_UNKNOWN;
		return gather->last_ns;
	}
	if (moved->block.cohort == NONE) {
		*former = moved->block.number + 1;
		end_moved(gather, moved);
		return gather->last_ns;
	}
	since_ns = born_ns(gather, &moved->block);
	row = row_of(gather, &moved->block);
	if (row == NONE) {
		*former = gather->cohorts.at[moved->block.cohort].like.former;
		end_moved(gather, moved);
		return since_ns;
	}
	moved->is_there = false;
	leave(gather, &moved->block);
	row = heap_gather_free_of_row(
		gather, row,
		&(struct sums){.nr = 1,
			       .size_bytes = size_of(gather, &moved->block),
			       .first_ns = end_of_row(gather, moved->by.time_ns)},
		moved->by.thread, true);
	*former = row == NONE ? FORMER_UNKNOWN : row + 1;
	return since_ns;
}

static void note_peak(struct heap_gather *gather, uint64_t time_ns)
{
	if (gather->alive.bytes <= gather->peak.bytes)
		return;
	gather->peak.bytes = gather->alive.bytes;
	gather->peak.number = gather->number;
	gather->peak.time_ns = time_ns;
	gather->peak.nr++;
}

void heap_gather_expect(const struct heap_gather *gather, uint32_t process, uint64_t address)
{
	const struct live_blocks *places = &gather->alive.places;

	if (places->slots)
		__builtin_prefetch(live_blocks_home(places, process, address));
}

/* Makes its row at once. */
static struct live_block make_row_of(struct heap_gather *gather, const struct heap_block *added,
				     uint32_t former)
{
	struct profile_allocation row = {.size_bytes = added->size_bytes,
					 .mean_bytes = added->mean_bytes,
					 .time_ns = gather->last_ns,
					 .former = former,
					 .kind = added->kind,
					 .thread = added->thread,
					 .freed_by = THREAD_NONE,
					 .stack = added->stack,
					 .end = added->end};

	return (struct live_block){.cohort = NONE,
				   .number = profile_add_allocation(gather->profile, &row)};
}

static struct live_block add_to_cohort(struct heap_gather *gather, const struct heap_block *added,
				       uint64_t since_ns, uint32_t former)
{
	struct likeness like = {
		.size_bytes = added->size_bytes < UINT32_MAX ? 0 : added->size_bytes,
		.alone = gather->policy == HEAP_ROWS_ALIVE_EACH ? ++gather->nr_alone : 0,
		.slice = since_ns >> SLICE_LOG2,
		.nr_marks = nr_marks_by(gather, gather->last_ns),
		.thread = added->thread,
		.stack = added->stack,
		.former = former,
		.kind = added->kind,
		.end = added->end};

	return (struct live_block){
		.cohort = cohort_of(gather, &like),
		.size = (uint32_t)min_u64(added->size_bytes, UINT32_MAX),
		.born = (uint32_t)((since_ns - (like.slice << SLICE_LOG2)) / BIRTH_GRAIN_NS),
		.number = ++gather->number};
}

/* The block that was there must have been freed unseen. */
static void end_unseen(struct heap_gather *gather, const struct live_block *block,
		       const struct heap_block *added)
{
	leave(gather, block);
	end_block(gather, block,
		  &(struct heap_freed){.process = added->process,
				       .address = added->address,
				       .time_ns = added->time_ns,
				       .thread = THREAD_NONE},
		  false);
}

/* The time goes on, if it is later. */
static void go_on(struct heap_gather *gather, uint64_t time_ns)
{
	const struct marks *marks = &gather->marks;
	size_t nr;

	gather->last_ns = max_u64(gather->last_ns, time_ns);
	if (gather->last_ns < gather->alike_until_ns)
		return;
	nr = nr_marks_by(gather, gather->last_ns);
	gather->alike_until_ns = ((gather->last_ns >> SLICE_LOG2) + 1) << SLICE_LOG2;
	if (nr < marks->nr)
		gather->alike_until_ns = min_u64(gather->alike_until_ns, marks->at_ns[nr]);
	gather->epoch++;
}

/* A block of a cohort. */
static void begin_block(struct heap_gather *gather, const struct live_block *block,
			const struct heap_block *added)
{
	struct live_block unseen;

	if (put_in(gather, added->process, added->address, block, &unseen))
		end_unseen(gather, &unseen, added);
	/* An event is later than the peak until the peak is found to be at it. */
	gather->cohorts.at[block->cohort].later.last_ns = gather->last_ns;
	note_peak(gather, gather->last_ns);
}

/* Returns its cohort, or NONE. */
static uint32_t add(struct heap_gather *gather, const struct heap_block *added)
{
	struct live_block block;
	uint64_t since_ns;
	uint32_t former = 0;

	if (gather->number == UINT32_MAX)
		heap_gather_make_rows(gather);
	go_on(gather, added->time_ns);
	since_ns = gather->last_ns;
	if (added->replaces)
		since_ns = inherit(gather, added, &former);
	if (gather->policy == HEAP_ROWS_EACH) {
		block = make_row_of(gather, added, former);
		put_in(gather, added->process, added->address, &block, &(struct live_block){0});
		return NONE;
	}
	block = add_to_cohort(gather, added, since_ns, former);
	begin_block(gather, &block, added);
	return block.cohort;
}

void heap_gather_add(struct heap_gather *gather, const struct heap_block *added)
{
	add(gather, added);
}

void heap_gather_add_of(struct heap_gather *gather, struct heap_origin *origin, uint64_t address,
			uint64_t size_bytes, uint64_t time_ns)
{
	const struct heap_block added = {.address = address,
					 .size_bytes = size_bytes,
					 .time_ns = time_ns,
					 .process = origin->process,
					 .thread = origin->thread,
					 .stack = origin->stack,
					 .kind = origin->kind,
					 .end = origin->end};
	struct live_block block;

	go_on(gather, time_ns);
	if (size_bytes >= UINT32_MAX || gather->policy != HEAP_ROWS_ALIKE ||
	    gather->number == UINT32_MAX) {
		add(gather, &added);
		return;
	}
	if (origin->epoch != gather->epoch) {
		origin->cohort = add(gather, &added);
		origin->epoch = gather->epoch;
		return;
	}
	block = (struct live_block){
		.cohort = origin->cohort,
		.size = (uint32_t)size_bytes,
		.born = (uint32_t)((gather->last_ns & ((UINT64_C(1) << SLICE_LOG2) - 1)) /
				   BIRTH_GRAIN_NS),
		.number = ++gather->number};
	begin_block(gather, &block, &added);
}

void heap_gather_free(struct heap_gather *gather, const struct heap_freed *freed)
{
	struct live_block block;

	if (!take_place(gather, freed, &block))
		return;
	leave(gather, &block);
	end_block(gather, &block, freed, false);
}

void heap_gather_free_to_move(struct heap_gather *gather, const struct heap_freed *freed)
{
	struct moved *moved = &gather->moved[gather->next_moved];
	struct moved *former;
	struct live_block block;

	if (!take_place(gather, freed, &block)) {
		/* It is not the one that was moved from there before. */
		former = find_moved(gather, freed->process, freed->address);
		if (former)
			end_moved(gather, former);
		return;
	}
	gather->next_moved = (gather->next_moved + 1) % MOVED_MAX;
	end_moved(gather, moved);
	*moved = (struct moved){.block = block, .by = *freed, .is_there = true};
}

void heap_gather_keep(struct heap_gather *gather, uint32_t process, uint64_t address)
{
	struct moved *moved = find_moved(gather, process, address);

	if (!moved)
		return;
	/* Another block at that address proves that it was moved. */
	if (live_blocks_find(&gather->alive.places, process, address)) {
		end_moved(gather, moved);
		return;
	}
	moved->is_there = false;
	live_blocks_put(&gather->alive.places, process, address, &moved->block,
			&(struct live_block){0});
}

void heap_gather_flush(struct heap_gather *gather)
{
	for (size_t i = 0; i < MOVED_MAX; i++)
		end_moved(gather, &gather->moved[i]);
	heap_gather_make_rows(gather);
}

bool heap_gather_find(const struct heap_gather *gather, uint32_t process, uint64_t address,
		      uint32_t *row)
{
	const struct live_block *block = live_blocks_find(&gather->alive.places, process, address);

	if (!block)
		return false;
	*row = row_of(gather, block);
	return *row != NONE;
}

/* --- mappings --- */

uint32_t heap_gather_add_map(struct heap_gather *gather, const struct profile_allocation *row)
{
	struct profile_allocation own = *row;
	uint32_t number;

	if (gather->number == UINT32_MAX)
		heap_gather_make_rows(gather);
	go_on(gather, row->time_ns);
	own.time_ns = gather->last_ns;
	gather->number++;
	gather->alive.bytes += row->size_bytes;
	note_peak(gather, gather->last_ns);
	number = map_rows_add(&gather->maps, &own);
	if (gather->policy == HEAP_ROWS_EACH)
		heap_gather_make_rows(gather);
	return number;
}

void heap_gather_free_map(struct heap_gather *gather, uint32_t number,
			  const struct heap_freed *freed, bool is_moved)
{
	uint32_t row;

	if (!map_rows_find(&gather->maps, number, &row)) {
		gather->alive.bytes -= map_rows_free_pending(&gather->maps, number, freed->time_ns,
							     freed->thread, is_moved);
		return;
	}
	heap_gather_end_row(gather->profile, row, freed, is_moved);
	gather->alive.bytes -= gather->profile->heap.allocations[row].size_bytes;
}

uint32_t heap_gather_map_row(const struct heap_gather *gather, uint32_t number)
{
	uint32_t row = NONE;

	map_rows_find(&gather->maps, number, &row);
	return row;
}

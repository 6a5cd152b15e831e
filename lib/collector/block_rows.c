// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/block_rows.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "collector/block_source.h"
#include "profile/block_search.h"
#include "profile/heap_gather.h"
#include "profile/live_blocks.h"
#include "profile/live_maps.h"
#include "profile/moved_blocks.h"
#include "profile/profile.h"
#include "profile/signed_stacks.h"

/* Sums of the sizes, means and number of all blocks, to keep them within a profile's limits. */
struct block_sums {
	uint64_t *of_process; /* owned; by serial */
	size_t nr, cap;
	uint64_t all;
	uint64_t nr_refused;
};

struct block_rows {
	struct profile *profile; /* borrowed */
	struct live_blocks blocks;
	struct live_blocks
		moving; /* blocks that realloc() has freed, by thread instead of address */
	struct moved_blocks moved;
	struct heap_gather *all; /* owned; NULL: a sample of blocks is recorded */
	uint64_t gathered_ns;	 /* when rows were last made */
	struct signed_stacks signed_stacks;
	int64_t nr_cut_maps;  /* mappings of which a part was unmapped */
	uint64_t last_row_ns; /* of the profile: rows are in the order of time */
	struct block_sums sums;
};

struct block_rows *block_rows_new(struct profile *profile, enum blocks_recorded recorded)
{
	struct block_rows *rows = xcalloc(1, sizeof(*rows));

	rows->profile = profile;
	if (recorded != BLOCKS_SAMPLED)
		rows->all = heap_gather_new(profile, recorded == BLOCKS_ALL_ALONE);
	return rows;
}

void block_rows_free(struct block_rows *rows)
{
	if (!rows)
		return;
	live_blocks_release(&rows->blocks);
	live_blocks_release(&rows->moving);
	heap_gather_release(rows->all);
	signed_stacks_release(&rows->signed_stacks);
	free(rows->sums.of_process);
	free(rows);
}

/* A process may lie about its blocks: a block whose sum would exceed the limits is refused. */
static bool has_room(struct block_rows *rows, uint32_t process, uint64_t size_bytes,
		     uint64_t mean_bytes)
{
	struct block_sums *sums = &rows->sums;
	uint64_t former, now;

	while (sums->nr <= process) {
		ARRAY_GROW(sums->of_process, sums->nr, sums->cap);
		sums->of_process[sums->nr++] = 0;
	}
	former = sums->of_process[process];
	now = former + 1 + min_u64(size_bytes, HEAP_TOTAL_MAX) +
	      min_u64(mean_bytes, HEAP_TOTAL_MAX);
	if (!part_has_room(sums->all, former, now, HEAP_TOTAL_MAX)) {
		sums->nr_refused++;
		return false;
	}
	sums->of_process[process] = now;
	sums->all += now - former;
	return true;
}

bool block_rows_is_one_of_all(const struct block_rows *rows, const struct block_record *record)
{
	return rows->all && record->kind != ALLOCATION_MAP;
}

/* The stack that the record brings, or the known stack of its signature. */
static struct signed_stack stack_of(struct block_rows *rows, const struct block_record *record,
				    const struct block_seen *seen)
{
	struct signed_stack own = {.signature = record->signature,
				   .signer = record->signer,
				   .stack = seen->stack,
				   .end = seen->end};
	const struct signed_stack *found;

	if (record->has_stack) {
		if (record->signature)
			signed_stacks_add(&rows->signed_stacks, &own);
		return own;
	}
	found = signed_stacks_find(&rows->signed_stacks, record->signer, record->signature);
	return found ? *found : own;
}

static void begin_one_of_all(struct block_rows *rows, const struct block_record *record,
			     const struct block_seen *seen)
{
	const struct signed_stack stack = stack_of(rows, record, seen);

	if (!record->address || !has_room(rows, record->process, record->size_bytes, 0))
		return;
	heap_gather_add(rows->all, &(const struct heap_block){.address = record->address,
							      .size_bytes = record->size_bytes,
							      .old_address = record->former,
							      .time_ns = seen->time_ns,
							      .process = record->process,
							      .thread = seen->thread,
							      .stack = stack.stack,
							      .kind = record->kind,
							      .end = stack.end});
}

/* `row`: of a new mapping; NULL: it is unmapped. */
static void apply_map(struct block_rows *rows, const struct block_record *record,
		      const struct block_seen *seen, const uint32_t *row)
{
	struct live_maps_change change = {.address = record->address,
					  .nr_bytes = record->size_bytes,
					  .row = row,
					  .time_ns = seen->time_ns,
					  .thread = seen->thread,
					  .is_move = !row && record->event == BLOCK_MOVED,
					  .wants_stack = !row && record->has_stack,
					  .stack = seen->stack,
					  .end = (enum stack_end)seen->end};

	rows->nr_cut_maps += live_maps_apply(seen->maps, rows->profile, rows->all, &change);
	if (change.is_move)
		live_blocks_begin_move(&rows->moving, record->process, record->tid, change.gone);
}

static void begin_map(struct block_rows *rows, const struct block_record *record,
		      const struct block_seen *seen, const struct profile_allocation *row)
{
	uint32_t index;

	if (!record->address || !has_room(rows, record->process, row->size_bytes, row->mean_bytes))
		return;
	index = rows->all ? heap_gather_add_map(rows->all, row)
			  : profile_add_allocation(rows->profile, row);
	apply_map(rows, record, seen, &index);
}

static void begin_one(struct block_rows *rows, const struct block_record *record,
		      const struct block_seen *seen)
{
	struct profile_allocation row = {
		.size_bytes = record->size_bytes,
		.mean_bytes = record->mean_bytes,
		.former = live_blocks_end_move(&rows->moving, record->process, record->tid,
					       record->replaces, record->former != 0),
		.kind = record->kind,
		.thread = seen->thread,
		.freed_by = THREAD_NONE,
		.stack = seen->stack,
		.end = seen->end,
	};

	if (record->former)
		moved_blocks_end(&rows->moved, rows->profile, record->process, record->tid);
	row.time_ns = max_u64(seen->time_ns, rows->last_row_ns);
	rows->last_row_ns = row.time_ns;
	if (row.kind == ALLOCATION_MAP) {
		row.size_bytes = live_maps_whole_pages(row.size_bytes);
		begin_map(rows, record, seen, &row);
		return;
	}
	if (has_room(rows, record->process, row.size_bytes, row.mean_bytes))
		live_blocks_add(&rows->blocks, record->process, record->address,
				profile_add_allocation(rows->profile, &row));
}

static void keep(struct block_rows *rows, const struct block_record *record)
{
	uint32_t row;

	live_blocks_remove(&rows->moving, record->process, (uint64_t)record->tid, &row);
	if (moved_blocks_keep(&rows->moved, record->process, record->tid, record->address, &row))
		live_blocks_add(&rows->blocks, record->process, record->address, row);
}

static void end_one(struct block_rows *rows, const struct block_record *record,
		    const struct block_seen *seen)
{
	uint32_t row = LIVE_BLOCKS_NO_ROW;

	if (record->event == BLOCK_KEPT) {
		keep(rows, record);
		return;
	}
	if (record->kind == ALLOCATION_MAP) {
		apply_map(rows, record, seen, NULL);
		return;
	}
	if (live_blocks_remove(&rows->blocks, record->process, record->address, &row)) {
		const struct freed_block freed = {.process = record->process,
						  .tid = record->tid,
						  .address = record->address,
						  .row = row,
						  .time_ns = seen->time_ns,
						  .thread = seen->thread,
						  .wants_stack = record->has_stack,
						  .stack = seen->stack,
						  .end = (enum stack_end)seen->end};

		if (record->event == BLOCK_MOVED)
			moved_blocks_add(&rows->moved, rows->profile, &freed);
		else
			moved_blocks_free(rows->profile, &freed);
	}
	if (record->event == BLOCK_MOVED)
		live_blocks_begin_move(&rows->moving, record->process, record->tid, row);
}

static void gather_one(struct block_rows *rows, const struct block_record *record,
		       const struct block_seen *seen)
{
	const struct heap_freed freed = {.process = record->process,
					 .address = record->address,
					 .time_ns = seen->time_ns,
					 .thread = seen->thread};

	switch ((enum block_event)record->event) {
	case BLOCK_ALLOCATED:
		begin_one_of_all(rows, record, seen);
		break;
	case BLOCK_FREED:
		heap_gather_free(rows->all, &freed);
		break;
	case BLOCK_MOVED:
		heap_gather_free_to_move(rows->all, &freed);
		break;
	case BLOCK_KEPT:
		heap_gather_keep(rows->all, record->process, record->address);
		break;
	}
}

/* Records are announced this many before they are handled. */
#define EXPECT	    16
#define EXPECT_SOON 8

void block_rows_expect(const struct block_rows *rows, const struct block_record *records, size_t nr)
{
	if (rows->all && nr > EXPECT)
		heap_gather_expect(rows->all, records[EXPECT].process, records[EXPECT].address);
	if (rows->all && nr > EXPECT_SOON)
		heap_gather_expect_soon(rows->all, records[EXPECT_SOON].process,
					records[EXPECT_SOON].address);
}

void block_rows_add(struct block_rows *rows, const struct block_record *record,
		    const struct block_seen *seen)
{
	if (block_rows_is_one_of_all(rows, record))
		gather_one(rows, record, seen);
	else if (record->event == BLOCK_ALLOCATED)
		begin_one(rows, record, seen);
	else
		end_one(rows, record, seen);
}

void block_rows_mark(struct block_rows *rows, uint64_t time_ns)
{
	if (rows->all)
		heap_gather_mark(rows->all, time_ns);
}

void block_rows_gather(struct block_rows *rows)
{
	moved_blocks_end_all(&rows->moved, rows->profile);
	if (!rows->all)
		return;
	heap_gather_flush(rows->all);
	rows->gathered_ns = clock_monotonic_ns();
}

/*
 * Blocks that are alive when rows are made get rows. The more rows there are, the rarer that is: so
 * their number grows with the square root of the time. A million rows take some 100 MB.
 */
#define ROWS_PER_PAUSE_S (1 << 18)

bool block_rows_is_gathering_due(const struct block_rows *rows)
{
	uint64_t pause_ns = rows->profile->heap.nr_allocations / ROWS_PER_PAUSE_S * NS_PER_SEC;

	return !rows->all || clock_monotonic_ns() >= rows->gathered_ns + pause_ns;
}

/* Finds blocks and mappings of a process; at one address with both, the block. */
struct finding {
	const struct block_rows *rows;
	const struct live_maps *maps;
};

static bool find_live_block(const void *owner, uint32_t process, uint64_t address, uint32_t *row)
{
	const struct finding *finding = owner;
	const struct heap_gather *all = finding->rows->all;

	if (all ? heap_gather_find(all, process, address, row)
		: live_blocks_find(&finding->rows->blocks, process, address, row))
		return true;
	if (!live_maps_find(finding->maps, address, row))
		return false;
	if (all)
		*row = heap_gather_map_row(all, *row);
	return true;
}

void block_rows_search(struct block_rows *rows, const struct block_search *found,
		       const struct live_maps *maps, const struct block_search_place *place)
{
	const struct finding finding = {.rows = rows, .maps = maps};
	const struct block_finder blocks = {.find = find_live_block, .owner = &finding};

	block_rows_gather(rows);
	block_search_add(found, rows->profile, &blocks, place);
}

void block_rows_count(const struct block_rows *rows)
{
	if (rows->nr_cut_maps > 0)
		profile_set_counter(rows->profile, "mem_cut_maps", (uint64_t)rows->nr_cut_maps);
	if (rows->sums.nr_refused)
		profile_set_counter(rows->profile, "mem_refused", rows->sums.nr_refused);
}

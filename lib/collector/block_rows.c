// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/block_rows.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/key_map.h"
#include "base/minmax.h"
#include "collector/block_source.h"
#include "profile/block_search.h"
#include "profile/heap_gather.h"
#include "profile/live_maps.h"
#include "profile/profile.h"
#include "profile/signed_stacks.h"

/* Sums of the sizes, means and number of all blocks, to keep them within a profile's limits. */
struct block_sums {
	uint64_t *of_process; /* owned; by serial */
	size_t nr, cap;
	uint64_t all; /* without what `process` has added since it is that */
	uint64_t nr_refused;
	uint32_t process;    /* of the last block; PROCESS_NONE: there was none */
	uint64_t most, left; /* its sum may be, and by how much it may grow */
};

/* Blocks with one signature are often of the same thread and function, too. */
struct known_origin {
	uint64_t signature; /* 0: unused */
	uint32_t signer;
	struct heap_origin origin;
};

#define KNOWN_ORIGINS 256

struct block_rows {
	struct profile *profile;    /* borrowed */
	struct heap_gather *gather; /* owned */
	bool is_all;
	uint64_t gathered_ns; /* when rows were last made */
	struct heap_keep keep;
	size_t forget_from;			     /* so many rows, of blocks and of moments */
	uint64_t nr_refused_before, forget_again_ns; /* as blocks were refused; not before */
	struct signed_stacks signed_stacks;
	struct known_origin known[KNOWN_ORIGINS]; /* by signature */
	struct key_map moved_maps; /* the last mapping that a thread has moved, by its tid */
	int64_t nr_cut_maps;	   /* mappings of which a part was unmapped */
	struct block_sums sums;
};

struct block_rows *block_rows_new(struct profile *profile, enum heap_rows policy)
{
	struct block_rows *rows = xcalloc(1, sizeof(*rows));

	rows->profile = profile;
	rows->gather = heap_gather_new(profile, policy);
	rows->sums.process = PROCESS_NONE;
	rows->is_all = policy != HEAP_ROWS_EACH;
	return rows;
}

void block_rows_free(struct block_rows *rows)
{
	if (!rows)
		return;
	heap_gather_release(rows->gather);
	signed_stacks_release(&rows->signed_stacks);
	key_map_release(&rows->moved_maps);
	free(rows->sums.of_process);
	free(rows);
}

static uint64_t *sum_of(struct block_sums *sums, uint32_t process)
{
	while (sums->nr <= process) {
		ARRAY_GROW(sums->of_process, sums->nr, sums->cap);
		sums->of_process[sums->nr++] = 0;
	}
	return &sums->of_process[process];
}

static uint64_t weight_of(uint64_t size_bytes, uint64_t mean_bytes)
{
	return 1 + min_u64(size_bytes, HEAP_TOTAL_MAX) + min_u64(mean_bytes, HEAP_TOTAL_MAX);
}

/* While blocks of one process come, the room that others leave to it is the same. */
static void turn_to(struct block_sums *sums, uint32_t process)
{
	uint64_t former;

	if (sums->process != PROCESS_NONE) {
		sums->all -= sums->of_process[sums->process];
		sums->of_process[sums->process] = sums->most - sums->left;
		sums->all += sums->of_process[sums->process];
	}
	former = *sum_of(sums, process);
	sums->process = process;
	sums->most = max_u64(former, part_room(sums->all, former, HEAP_TOTAL_MAX));
	sums->left = sums->most - former;
}

/* A process may lie about its blocks: a block whose sum would exceed the limits is refused. */
static bool has_room(struct block_rows *rows, uint32_t process, uint64_t size_bytes,
		     uint64_t mean_bytes)
{
	struct block_sums *sums = &rows->sums;
	uint64_t more = weight_of(size_bytes, mean_bytes);

	if (process != sums->process)
		turn_to(sums, process);
	if (more > sums->left) {
		sums->nr_refused++;
		return false;
	}
	sums->left -= more;
	return true;
}

bool block_rows_is_one_of_all(const struct block_rows *rows, const struct block_record *record)
{
	return rows->is_all && record->kind != ALLOCATION_MAP;
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

static struct heap_freed freed_by(const struct block_record *record, const struct block_seen *seen)
{
	return (struct heap_freed){.process = record->process,
				   .address = record->address,
				   .time_ns = seen->time_ns,
				   .thread = seen->thread,
				   .wants_stack = record->has_stack,
				   .stack = seen->stack,
				   .end = (enum stack_end)seen->end};
}

/* NULL: the record has more facts of its own, or its stack is not known. */
static struct heap_origin *find_origin(struct block_rows *rows, const struct block_record *record,
				       const struct block_seen *seen)
{
	struct known_origin *known = &rows->known[record->signature % KNOWN_ORIGINS];
	const struct signed_stack *stack;

	if (!record->signature || record->has_stack || record->replaces || record->mean_bytes)
		return NULL;
	if (known->signature == record->signature && known->signer == record->signer &&
	    known->origin.process == record->process && known->origin.thread.v == seen->thread.v &&
	    known->origin.kind == record->kind)
		return &known->origin;
	stack = signed_stacks_find(&rows->signed_stacks, record->signer, record->signature);
	if (!stack)
		return NULL;
	*known = (struct known_origin){.signature = record->signature,
				       .signer = record->signer,
				       .origin = {.process = record->process,
						  .thread = seen->thread,
						  .stack = stack->stack,
						  .kind = record->kind,
						  .end = stack->end}};
	return &known->origin;
}

static void begin_block(struct block_rows *rows, const struct block_record *record,
			const struct block_seen *seen)
{
	struct heap_origin *origin = find_origin(rows, record, seen);
	struct signed_stack stack;

	if (origin) {
		if (record->address && has_room(rows, record->process, record->size_bytes, 0))
			heap_gather_add_of(rows->gather, origin, record->address,
					   record->size_bytes, seen->time_ns);
		return;
	}
	stack = stack_of(rows, record, seen);
	if (!record->address ||
	    !has_room(rows, record->process, record->size_bytes, record->mean_bytes))
		return;
	heap_gather_add(rows->gather, &(const struct heap_block){.address = record->address,
								 .size_bytes = record->size_bytes,
								 .mean_bytes = record->mean_bytes,
								 .replaces = record->replaces,
								 .old_address = record->former,
								 .time_ns = seen->time_ns,
								 .process = record->process,
								 .thread = seen->thread,
								 .stack = stack.stack,
								 .kind = record->kind,
								 .end = stack.end});
}

/* A process may write any id of a thread, but no key is 0. */
static uint64_t mover_of(const struct block_record *record)
{
	return (uint64_t)(uint32_t)record->tid + 1;
}

/* `number`: of a new mapping; NULL: it is unmapped. */
static void apply_map(struct block_rows *rows, const struct block_record *record,
		      const struct block_seen *seen, const uint32_t *number)
{
	struct live_maps_change change = {.address = record->address,
					  .nr_bytes = record->size_bytes,
					  .number = number,
					  .by = freed_by(record, seen),
					  .is_move = !number && record->event == BLOCK_MOVED};

	/* A new mapping brings the stack of its own. */
	change.by.wants_stack &= !number;
	rows->nr_cut_maps += live_maps_apply(seen->maps, rows->gather, &change);
	if (change.is_move)
		key_map_put(&rows->moved_maps, record->process, mover_of(record), change.gone);
}

/* The `former` of a new mapping. */
static uint32_t former_map(struct block_rows *rows, const struct block_record *record)
{
	uint32_t number;

	if (!record->replaces)
		return 0;
	if (record->former &&
	    key_map_take(&rows->moved_maps, record->process, mover_of(record), &number) &&
	    number != LIVE_MAPS_NONE)
		return number + 1;
	return FORMER_UNKNOWN;
}

static void begin_map(struct block_rows *rows, const struct block_record *record,
		      const struct block_seen *seen)
{
	const struct profile_allocation row = {
		.size_bytes = live_maps_whole_pages(record->size_bytes),
		.mean_bytes = record->mean_bytes,
		.former = former_map(rows, record),
		.kind = record->kind,
		.time_ns = seen->time_ns,
		.thread = seen->thread,
		.freed_by = THREAD_NONE,
		.stack = seen->stack,
		.end = seen->end,
	};
	uint32_t number;

	if (!record->address || !has_room(rows, record->process, row.size_bytes, row.mean_bytes))
		return;
	number = heap_gather_add_map(rows->gather, &row);
	apply_map(rows, record, seen, &number);
}

static void end_block(struct block_rows *rows, const struct block_record *record,
		      const struct block_seen *seen)
{
	const struct heap_freed freed = freed_by(record, seen);

	if (record->event == BLOCK_KEPT)
		heap_gather_keep(rows->gather, record->process, record->address);
	else if (record->event == BLOCK_MOVED)
		heap_gather_free_to_move(rows->gather, &freed);
	else
		heap_gather_free(rows->gather, &freed);
}

/* A record is announced this many before it is handled. */
#define EXPECT 16

void block_rows_expect(const struct block_rows *rows, const struct block_record *records, size_t nr)
{
	if (nr > EXPECT)
		heap_gather_expect(rows->gather, records[EXPECT].process, records[EXPECT].address);
}

void block_rows_add(struct block_rows *rows, const struct block_record *record,
		    const struct block_seen *seen)
{
	bool is_map = record->kind == ALLOCATION_MAP;

	if (record->event == BLOCK_ALLOCATED && is_map)
		begin_map(rows, record, seen);
	else if (record->event == BLOCK_ALLOCATED)
		begin_block(rows, record, seen);
	else if (record->event != BLOCK_KEPT && is_map)
		apply_map(rows, record, seen, NULL);
	else
		end_block(rows, record, seen);
}

void block_rows_mark(struct block_rows *rows, uint64_t time_ns)
{
	heap_gather_mark(rows->gather, time_ns);
}

void block_rows_gather(struct block_rows *rows)
{
	heap_gather_make_rows(rows->gather);
	rows->gathered_ns = clock_monotonic_ns();
}

void block_rows_end(struct block_rows *rows)
{
	heap_gather_flush(rows->gather);
}

/*
 * Blocks that are alive when rows are made get rows. The more rows there are, the rarer that is: so
 * their number grows with the square root of the time. A million rows take some 100 MB.
 */
#define ROWS_PER_PAUSE_S (1 << 18)

bool block_rows_is_gathering_due(const struct block_rows *rows)
{
	uint64_t pause_ns = rows->profile->heap.nr_allocations / ROWS_PER_PAUSE_S * NS_PER_SEC;

	return !rows->is_all || clock_monotonic_ns() >= rows->gathered_ns + pause_ns;
}

/* Each time takes as long as there are rows: until they have doubled there is little to forget. */
#define FORGET_MIN 4096
/* So often while blocks are refused. */
#define FORGETS_PER_SPAN 4

static size_t nr_rows(const struct block_rows *rows)
{
	return rows->profile->heap.nr_allocations + rows->profile->heap.nr_moments;
}

static void forget_later(struct block_rows *rows)
{
	size_t nr = nr_rows(rows);

	rows->forget_from = max_u64(FORGET_MIN, 2 * nr);
	if (nr < rows->keep.max_rows)
		rows->forget_from = min_u64(rows->forget_from, rows->keep.max_rows);
}

void block_rows_keep(struct block_rows *rows, const struct heap_keep *keep)
{
	rows->keep = *keep;
	forget_later(rows);
}

/* The room of what was forgotten, as of processes that have ended, is for others. */
static void sum_again(struct block_rows *rows)
{
	const struct profile *profile = rows->profile;
	struct block_sums *sums = &rows->sums;

	sums->process = PROCESS_NONE;
	sums->nr = 0;
	sums->all = 0;
	for (size_t i = 0; i < profile->heap.nr_allocations; i++) {
		const struct profile_allocation *row = &profile->heap.allocations[i];
		uint64_t weight = weight_of(row->size_bytes, row->mean_bytes);

		*sum_of(sums, profile->threads[row->thread.v].process) += weight;
		sums->all += weight;
	}
}

/* A lie may take all the room with few rows. */
static bool is_to_forget(struct block_rows *rows, uint64_t now_ns)
{
	bool is_refused =
		rows->sums.nr_refused > rows->nr_refused_before && now_ns >= rows->forget_again_ns;

	if (is_refused) {
		rows->nr_refused_before = rows->sums.nr_refused;
		rows->forget_again_ns = now_ns + rows->keep.span_ns / FORGETS_PER_SPAN;
	}
	return is_refused || nr_rows(rows) >= rows->forget_from;
}

uint32_t *block_rows_forget(struct block_rows *rows, uint64_t now_ns)
{
	const struct heap_keep *keep = &rows->keep;
	uint32_t *numbers;

	if (!keep->span_ns || rows->is_all || !is_to_forget(rows, now_ns))
		return NULL;
	numbers = heap_gather_forget(rows->gather, now_ns - min_u64(now_ns, keep->span_ns), now_ns,
				     keep->max_rows);
	key_map_release(&rows->moved_maps); /* one on the move becomes one of unknown origin */
	sum_again(rows);
	forget_later(rows);
	return numbers;
}

/* Finds blocks and mappings of a process; at one address with both, the block. */
struct finding {
	const struct block_rows *rows;
	const struct live_maps *maps;
};

static bool find_live_block(const void *owner, uint32_t process, uint64_t address, uint32_t *row)
{
	const struct finding *finding = owner;
	const struct heap_gather *gather = finding->rows->gather;

	if (heap_gather_find(gather, process, address, row))
		return true;
	if (!live_maps_find(finding->maps, address, row))
		return false;
	*row = heap_gather_map_row(gather, *row);
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

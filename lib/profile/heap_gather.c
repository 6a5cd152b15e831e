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
#include "base/index_set.h"
#include "base/key_map.h"
#include "base/minmax.h"
#include "profile/map_rows.h"
#include "profile/profile.h"

#define NONE	  UINT32_MAX
#define MOVED_MAX 64 /* threads that are in realloc() at the same time */
/* Alive at the peak, its row and others are apart by more than a file rounds down. */
#define APART_NS (2 * SAMPLE_TIME_GRAIN_NS)

/* The facts that all blocks of a cohort share. */
struct likeness {
	uint64_t size_bytes; /* of each, if that does not fit into its number; or 0 */
	uint64_t alone;	     /* which block, if each has a row of its own; or 0 */
	uint64_t slice;	     /* of the time: the numbers for births fit into 32 bits */
	size_t nr_marks;     /* before they were allocated */
	struct thread_id thread;
	struct stack_id stack;
	uint32_t former; /* as in its row */
	uint8_t kind, end;
};

struct born {
	uint64_t nr, size_bytes;
	uint64_t last_ns; /* the last of them */
};

/*
 * Blocks that are alike, allocated between two times that rows were made: those that are alive have
 * one row in the end, or two: one for what was alive at the peak, and one for what came after it.
 */
struct cohort {
	struct likeness like;
	uint64_t begun_ns; /* births count from here */
	uint64_t nr_alive;
	/* Without rows: those that are alive. */
	uint64_t nr_peaks; /* the peak that at_peak belongs to */
	struct born at_peak, later;
	/* With rows. */
	bool has_rows;
	uint32_t rows[2];     /* or NONE */
	uint32_t last_number; /* of a block of the first row */
	uint32_t next_unused;
};

/* A block that is alive. With HEAP_ROWS_EACH only its number is set: that of its row. */
struct block {
	uint32_t cohort; /* NONE: it has none */
	uint32_t size;	 /* UINT32_MAX: see the cohort */
	uint32_t born;	 /* in BIRTH_GRAIN_NS since the cohort's begin; before any realloc() */
	uint32_t number; /* in the order of allocations, since rows were made; or next unused */
};

#define BIRTH_GRAIN_NS 16
#define SLICE_LOG2     36 /* ns, to be counted in 32 bits */

struct sums {
	uint64_t nr, size_bytes, life_ns;
	uint64_t first_ns; /* the first was freed */
};

/* Freed blocks that are alike, for one row. */
struct part {
	uint32_t cohort;
	uint32_t row;	 /* of the cohort; NONE: it has none yet */
	size_t nr_marks; /* before they were freed, if they have a row */
	struct thread_id freed_by;
	uint8_t decade;
	bool is_moved;	     /* realloc() freed it */
	uint64_t time_ns;    /* the first birth of them */
	uint64_t nr_peaks;   /* the peak that at_peak belongs to */
	struct sums at_peak; /* alive then, */
	struct sums others;  /* or not */
};

/*
 * A block that realloc() has freed: it is kept if that fails, or else continues as another block.
 */
struct moved {
	struct block block;
	struct heap_freed by;
	bool is_there;
};

/* Those that are alive. */
struct alive {
	struct key_map places; /* numbers of blocks, or of rows, by process and address */
	struct block *blocks;  /* owned, as all of these */
	size_t nr, cap;
	uint32_t unused; /* the first of a list; or NONE */
	uint64_t bytes;	 /* with mappings */
};

struct cohorts {
	struct cohort *at;
	size_t nr, cap;
	uint32_t unused; /* the first of a list; or NONE */
	uint32_t *fresh; /* without rows */
	size_t nr_fresh, cap_fresh;
	struct index_set by_likeness; /* of `fresh` */
	uint32_t *ended;	      /* with rows, of which no block is alive */
	size_t nr_ended, cap_ended;
};

struct parts {
	struct part *at;
	size_t nr, cap;
	struct index_set by_likeness;
};

struct marks {
	uint64_t *at_ns;
	size_t nr, cap;
};

struct heap_gather {
	struct profile *profile;
	enum heap_rows policy;
	uint64_t nr_alone;
	struct alive alive;
	struct cohorts cohorts;
	struct parts parts;
	struct map_rows maps;
	struct marks marks;
	uint64_t last_ns, last_row_ns;
	uint32_t number; /* of the last block, since rows were made */
	/* Since then: the moment with most bytes, by the last block allocated until then. */
	struct {
		uint64_t bytes, time_ns, nr;
		uint32_t number;
	} peak;
	struct moved moved[MOVED_MAX];
	uint32_t next_moved; /* the next to be replaced */
};

struct heap_gather *heap_gather_new(struct profile *profile, enum heap_rows policy)
{
	struct heap_gather *gather = xcalloc(1, sizeof(*gather));

	gather->profile = profile;
	gather->policy = policy;
	gather->alive.unused = gather->cohorts.unused = NONE;
	return gather;
}

void heap_gather_release(struct heap_gather *gather)
{
	if (!gather)
		return;
	key_map_release(&gather->alive.places);
	free(gather->alive.blocks);
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

static void remove_cohort(struct heap_gather *gather, uint32_t at)
{
	gather->cohorts.at[at].next_unused = gather->cohorts.unused;
	gather->cohorts.unused = at;
}

/* Without rows. */
static uint32_t cohort_of(struct heap_gather *gather, const struct likeness *like)
{
	uint64_t rest = like->alone ^ like->size_bytes ^ like->slice << 40 ^ like->nr_marks << 16 ^
			(uint64_t)like->former << 24 ^ (uint64_t)like->kind << 8 ^ like->end;
	uint64_t hash = hash_mix((uint64_t)like->stack.v << 32 | like->thread.v, rest);
	uint32_t at = index_set_find(&gather->cohorts.by_likeness, hash, is_like, gather, like),
		 cohort;

	if (at != INDEX_NONE)
		return gather->cohorts.fresh[at];
	cohort = new_cohort(gather);
	gather->cohorts.at[cohort] = (struct cohort){.like = *like,
						     .begun_ns = like->slice << SLICE_LOG2,
						     .nr_peaks = gather->peak.nr,
						     .rows = {NONE, NONE}};
	ARRAY_GROW(gather->cohorts.fresh, gather->cohorts.nr_fresh, gather->cohorts.cap_fresh);
	gather->cohorts.fresh[gather->cohorts.nr_fresh] = cohort;
	index_set_add(&gather->cohorts.by_likeness, hash, (uint32_t)gather->cohorts.nr_fresh++);
	return cohort;
}

/* What is alive at a new peak. */
static void come_to_peak(const struct heap_gather *gather, struct cohort *cohort)
{
	if (cohort->nr_peaks == gather->peak.nr)
		return;
	cohort->nr_peaks = gather->peak.nr;
	if (!cohort->later.nr)
		return;
	cohort->at_peak.nr += cohort->later.nr;
	cohort->at_peak.size_bytes += cohort->later.size_bytes;
	cohort->at_peak.last_ns = cohort->later.last_ns;
	cohort->later = (struct born){0};
}

/* --- blocks --- */

static uint64_t size_of(const struct heap_gather *gather, const struct block *block)
{
	return block->size == UINT32_MAX ? gather->cohorts.at[block->cohort].like.size_bytes
					 : block->size;
}

static uint64_t born_ns(const struct heap_gather *gather, const struct block *block)
{
	return gather->cohorts.at[block->cohort].begun_ns + (uint64_t)block->born * BIRTH_GRAIN_NS;
}

static struct block block_at(const struct heap_gather *gather, uint32_t at)
{
	return gather->policy == HEAP_ROWS_EACH ? (struct block){.cohort = NONE, .number = at}
						: gather->alive.blocks[at];
}

/* It is among those that are alive, and in their sums. */
static void put(struct heap_gather *gather, uint32_t process, uint64_t address,
		const struct block *block)
{
	uint32_t at = gather->alive.unused;

	if (gather->policy == HEAP_ROWS_EACH) {
		key_map_put(&gather->alive.places, process, address, block->number);
		return;
	}
	if (at == NONE) {
		ARRAY_GROW(gather->alive.blocks, gather->alive.nr, gather->alive.cap);
		at = (uint32_t)gather->alive.nr++;
	} else {
		gather->alive.unused = gather->alive.blocks[at].number;
	}
	gather->alive.blocks[at] = *block;
	key_map_put(&gather->alive.places, process, address, at);
	gather->alive.bytes += size_of(gather, block);
}

/* False: it is not there. */
static bool take(struct heap_gather *gather, uint32_t process, uint64_t address,
		 struct block *block)
{
	uint32_t at;

	if (!key_map_take(&gather->alive.places, process, address, &at))
		return false;
	*block = block_at(gather, at);
	if (block->cohort == NONE)
		return true;
	gather->alive.blocks[at].number = gather->alive.unused;
	gather->alive.unused = at;
	gather->alive.bytes -= size_of(gather, block);
	return true;
}

static bool was_at_peak(const struct heap_gather *gather, const struct block *block)
{
	return block->number <= gather->peak.number;
}

/* Of a cohort that has no rows: in or out. */
static void count(struct heap_gather *gather, const struct block *block, int nr)
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
static uint32_t row_of(const struct heap_gather *gather, const struct block *block)
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
	const struct part *a = &gather->parts.at[index];
	const struct part *b = key;

	return a->cohort == b->cohort && a->row == b->row && a->nr_marks == b->nr_marks &&
	       a->freed_by.v == b->freed_by.v && a->decade == b->decade &&
	       a->is_moved == b->is_moved;
}

static struct part *part_of(struct heap_gather *gather, const struct part *like)
{
	uint64_t hash = hash_mix((uint64_t)like->cohort << 32 | like->row,
				 (uint64_t)like->freed_by.v << 32 ^ like->nr_marks << 8 ^
					 (uint64_t)like->decade << 1 ^ like->is_moved);
	uint32_t at = index_set_find(&gather->parts.by_likeness, hash, is_part, gather, like);

	if (at == INDEX_NONE) {
		ARRAY_GROW(gather->parts.at, gather->parts.nr, gather->parts.cap);
		at = (uint32_t)gather->parts.nr++;
		gather->parts.at[at] = *like;
		index_set_add(&gather->parts.by_likeness, hash, at);
	}
	return &gather->parts.at[at];
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
	if (!sums->nr || (more->nr && more->first_ns < sums->first_ns))
		sums->first_ns = more->first_ns;
	sums->nr += more->nr;
	sums->size_bytes += more->size_bytes;
	sums->life_ns += more->life_ns;
}

/* Blocks alive at a former, lower peak are like all others. */
static void part_comes_to_peak(const struct heap_gather *gather, struct part *part)
{
	if (part->nr_peaks == gather->peak.nr)
		return;
	if (part->at_peak.nr)
		add_sums(&part->others, &part->at_peak);
	part->at_peak = (struct sums){0};
	part->nr_peaks = gather->peak.nr;
}

/*
 * One that has no row, and is not followed any further, is like those that are new: what it was
 * made of stays with its life.
 */
static uint32_t plain_cohort(struct heap_gather *gather, uint32_t cohort)
{
	const struct likeness *found = &gather->cohorts.at[cohort].like;
	struct likeness like;

	if (!found->size_bytes && !found->alone &&
	    (!found->former || found->former == FORMER_UNKNOWN))
		return cohort;
	like = *found;
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

/* A row of one block, or the last blocks of a row, were freed. */
static void end_row(struct profile *profile, uint32_t row, const struct heap_freed *freed,
		    bool is_moved)
{
	profile_free_allocation(profile, row, freed->time_ns, freed->thread);
	if (freed->wants_stack)
		profile_note_freeing(profile, row, freed->stack, freed->end);
	if (is_moved)
		profile_move_allocation(profile, row);
}

/* A block with a cohort. */
static void add_to_part(struct heap_gather *gather, const struct block *block,
			const struct heap_freed *freed, bool is_moved)
{
	uint32_t row = row_of(gather, block);
	uint64_t since_ns = born_ns(gather, block);
	uint64_t life_ns = freed->time_ns - min_u64(freed->time_ns, since_ns);
	uint64_t freed_ns = row == NONE ? freed->time_ns : end_of_row(gather, freed->time_ns);
	struct sums one = {.nr = 1,
			   .size_bytes = size_of(gather, block),
			   .life_ns = life_ns,
			   .first_ns = freed_ns};
	struct part *part = part_of(
		gather, &(struct part){.cohort = row == NONE ? plain_cohort(gather, block->cohort)
							     : block->cohort,
				       .row = row,
				       .nr_marks = row == NONE ? 0 : nr_marks_by(gather, freed_ns),
				       .freed_by = freed->thread,
				       .decade = decade_of(life_ns),
				       .is_moved = is_moved,
				       .time_ns = since_ns,
				       .nr_peaks = gather->peak.nr});

	part_comes_to_peak(gather, part);
	add_sums(row != NONE || was_at_peak(gather, block) ? &part->at_peak : &part->others, &one);
}

static void end_block(struct heap_gather *gather, const struct block *block,
		      const struct heap_freed *freed, bool is_moved)
{
	if (block->cohort == NONE)
		end_row(gather->profile, block->number, freed, is_moved);
	else
		add_to_part(gather, block, freed, is_moved);
}

/*
 * Some of a row's blocks, or all, were freed. Returns the row that they have then; NONE: the row
 * was discarded, and so are its parts.
 */
static uint32_t free_of_row(struct heap_gather *gather, uint32_t row, const struct sums *sums,
			    struct thread_id freed_by, bool is_moved)
{
	struct profile *profile = gather->profile;

	if (sums->nr <= profile->heap.allocations[row].nr_more)
		row = profile_split_allocation(profile, row, (uint32_t)sums->nr, sums->size_bytes);
	if (row == NONE)
		return NONE;
	end_row(profile, row, &(struct heap_freed){.time_ns = sums->first_ns, .thread = freed_by},
		is_moved);
	if (profile->heap.allocations[row].nr_more)
		profile_set_mean_life(profile, row, sums->life_ns / sums->nr);
	return row;
}

/* Freed by now, or moved: where it was is known no more. */
static bool take_out(struct heap_gather *gather, const struct heap_freed *freed,
		     struct block *block)
{
	struct cohort *cohort;

	if (!take(gather, freed->process, freed->address, block))
		return false;
	if (block->cohort == NONE)
		return true;
	cohort = &gather->cohorts.at[block->cohort];
	if (!cohort->has_rows) {
		count(gather, block, -1);
		return true;
	}
	if (--cohort->nr_alive == 0) {
		ARRAY_GROW(gather->cohorts.ended, gather->cohorts.nr_ended,
			   gather->cohorts.cap_ended);
		gather->cohorts.ended[gather->cohorts.nr_ended++] = block->cohort;
	}
	return true;
}

static void put_in(struct heap_gather *gather, uint32_t process, uint64_t address,
		   const struct block *block)
{
	put(gather, process, address, block);
	if (block->cohort == NONE)
		return;
	if (gather->cohorts.at[block->cohort].has_rows)
		gather->cohorts.at[block->cohort].nr_alive++;
	else
		count(gather, block, 1);
}

static void end_moved(struct heap_gather *gather, struct moved *moved)
{
	if (!moved->is_there)
		return;
	moved->is_there = false;
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
	row = free_of_row(gather, row,
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
	key_map_expect(&gather->alive.places, process, address);
}

void heap_gather_expect_soon(const struct heap_gather *gather, uint32_t process, uint64_t address)
{
	uint32_t at;

	if (gather->policy != HEAP_ROWS_EACH &&
	    key_map_find(&gather->alive.places, process, address, &at))
		__builtin_prefetch(&gather->alive.blocks[at]);
}

/* Makes its row at once. */
static struct block make_row_of(struct heap_gather *gather, const struct heap_block *added,
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

	return (struct block){.cohort = NONE,
			      .number = profile_add_allocation(gather->profile, &row)};
}

static struct block add_to_cohort(struct heap_gather *gather, const struct heap_block *added,
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

	return (struct block){
		.cohort = cohort_of(gather, &like),
		.size = (uint32_t)min_u64(added->size_bytes, UINT32_MAX),
		.born = (uint32_t)((since_ns - (like.slice << SLICE_LOG2)) / BIRTH_GRAIN_NS),
		.number = ++gather->number};
}

static void free_unseen(struct heap_gather *gather, const struct heap_block *added)
{
	heap_gather_free(gather, &(struct heap_freed){.process = added->process,
						      .address = added->address,
						      .time_ns = added->time_ns,
						      .thread = THREAD_NONE});
}

void heap_gather_add(struct heap_gather *gather, const struct heap_block *added)
{
	bool is_alone = gather->policy == HEAP_ROWS_EACH;
	struct block block;
	uint64_t since_ns;
	uint32_t former = 0;

	if (!is_alone)
		free_unseen(gather, added);
	if (gather->number == UINT32_MAX)
		heap_gather_flush(gather);
	gather->last_ns = max_u64(gather->last_ns, added->time_ns);
	since_ns = gather->last_ns;
	if (added->replaces)
		since_ns = inherit(gather, added, &former);
	block = is_alone ? make_row_of(gather, added, former)
			 : add_to_cohort(gather, added, since_ns, former);
	put_in(gather, added->process, added->address, &block);
	if (is_alone)
		return;
	/* An event is later than the peak until the peak is found to be at it. */
	gather->cohorts.at[block.cohort].later.last_ns = gather->last_ns;
	note_peak(gather, gather->last_ns);
}

void heap_gather_free(struct heap_gather *gather, const struct heap_freed *freed)
{
	struct block block;

	if (take_out(gather, freed, &block))
		end_block(gather, &block, freed, false);
}

void heap_gather_free_to_move(struct heap_gather *gather, const struct heap_freed *freed)
{
	struct moved *moved = &gather->moved[gather->next_moved];
	struct moved *former;
	struct block block;

	if (!take_out(gather, freed, &block)) {
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
	uint32_t at;

	if (!moved)
		return;
	/* Another block at that address proves that it was moved. */
	if (key_map_find(&gather->alive.places, process, address, &at)) {
		end_moved(gather, moved);
		return;
	}
	moved->is_there = false;
	put_in(gather, process, address, &moved->block);
}

/* --- rows --- */

struct made_row {
	struct profile_allocation row;
	uint32_t cohort; /* of blocks that are alive; or NONE */
	uint8_t which;	 /* of its rows */
	uint32_t map;	 /* from 1 on, in the order of mappings; 0: it is none */
};

static struct profile_allocation row_like(const struct likeness *like)
{
	return (struct profile_allocation){.thread = like->thread,
					   .freed_by = THREAD_NONE,
					   .former = like->former,
					   .stack = like->stack,
					   .kind = like->kind,
					   .end = like->end};
}

static void make_part_row(const struct heap_gather *gather, const struct part *part,
			  const struct sums *sums, uint64_t time_ns, uint64_t freed_ns,
			  struct made_row *made)
{
	*made = (struct made_row){.row = row_like(&gather->cohorts.at[part->cohort].like),
				  .cohort = NONE};
	made->row.time_ns = time_ns;
	made->row.freed_ns = freed_ns;
	made->row.size_bytes = sums->size_bytes;
	made->row.life_ns = sums->life_ns / sums->nr;
	made->row.nr_more = (uint32_t)min_u64(sums->nr - 1, UINT32_MAX);
	made->row.freed_by = part->freed_by;
	made->row.is_moved = part->is_moved;
}

/* Blocks that were freed before they had a row were alive at the peak, or at no moment. */
static size_t make_part_rows(const struct heap_gather *gather, struct made_row *made)
{
	uint64_t peak_ns = gather->peak.time_ns;
	size_t nr = 0;

	for (size_t i = 0; i < gather->parts.nr; i++) {
		struct part *part = &gather->parts.at[i];

		if (part->row != NONE)
			continue;
		part_comes_to_peak(gather, part);
		if (part->others.nr)
			make_part_row(gather, part, &part->others, part->time_ns,
				      max_u64(part->time_ns, 1), &made[nr++]);
		if (part->at_peak.nr)
			make_part_row(gather, part, &part->at_peak, peak_ns,
				      peak_ns + SAMPLE_TIME_GRAIN_NS, &made[nr++]);
	}
	return nr;
}

static void free_parts_of_rows(struct heap_gather *gather)
{
	for (size_t i = 0; i < gather->parts.nr; i++) {
		struct part *part = &gather->parts.at[i];

		if (part->row == NONE)
			continue;
		part_comes_to_peak(gather, part);
		if (part->others.nr)
			free_of_row(gather, part->row, &part->others, part->freed_by,
				    part->is_moved);
		if (part->at_peak.nr)
			free_of_row(gather, part->row, &part->at_peak, part->freed_by,
				    part->is_moved);
	}
}

static void make_row_of_alive(const struct cohort *cohort, const struct born *born,
			      uint64_t time_ns, struct made_row *made)
{
	made->row = row_like(&cohort->like);
	made->row.time_ns = time_ns;
	made->row.size_bytes = born->size_bytes;
	made->row.nr_more = (uint32_t)min_u64(born->nr - 1, UINT32_MAX);
}

/* Each block of them is there from the last birth on, which is no later than what it must be in. */
static size_t make_rows_of_alive(struct heap_gather *gather, struct made_row *made)
{
	size_t nr = 0;

	for (size_t i = 0; i < gather->cohorts.nr_fresh; i++) {
		uint32_t at = gather->cohorts.fresh[i];
		struct cohort *cohort = &gather->cohorts.at[at];
		uint64_t later_ns = max_u64(cohort->later.last_ns, gather->peak.time_ns + APART_NS);

		come_to_peak(gather, cohort);
		if (cohort->at_peak.nr) {
			made[nr] = (struct made_row){.cohort = at, .which = 0};
			make_row_of_alive(cohort, &cohort->at_peak, cohort->at_peak.last_ns,
					  &made[nr++]);
		}
		if (cohort->later.nr) {
			made[nr] = (struct made_row){.cohort = at, .which = 1};
			make_row_of_alive(cohort, &cohort->later, later_ns, &made[nr++]);
			gather->last_ns = max_u64(gather->last_ns, later_ns);
		}
	}
	return nr;
}

static size_t make_map_rows(const struct map_rows *maps, struct made_row *made)
{
	for (uint32_t i = 0; i < maps->nr_pending; i++)
		made[i] = (struct made_row){.row = maps->pending[i], .cohort = NONE, .map = i + 1};
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
	if (nr)
		qsort(made, nr, sizeof(*made), by_time);
	for (size_t i = 0; i < nr; i++) {
		uint32_t row;

		/* A block that a failed realloc() kept may be older than the last row written. */
		gather->last_row_ns = max_u64(gather->last_row_ns, made[i].row.time_ns);
		made[i].row.time_ns = gather->last_row_ns;
		if (made[i].map)
			made[i].row.former = map_rows_former(&gather->maps, made[i].row.former);
		row = profile_add_allocation(gather->profile, &made[i].row);
		if (made[i].map)
			map_rows_made(&gather->maps, row);
		if (made[i].cohort != NONE)
			gather->cohorts.at[made[i].cohort].rows[made[i].which] = row;
	}
}

/* Drop the cohorts without a block that is alive. */
static void end_cohorts(struct heap_gather *gather)
{
	for (size_t i = 0; i < gather->cohorts.nr_ended; i++) {
		struct cohort *cohort = &gather->cohorts.at[gather->cohorts.ended[i]];

		/* One may have ended twice. */
		if (!cohort->nr_alive && cohort->has_rows)
			remove_cohort(gather, gather->cohorts.ended[i]);
		cohort->has_rows &= cohort->nr_alive != 0;
	}
	for (size_t i = 0; i < gather->cohorts.nr_fresh; i++) {
		struct cohort *cohort = &gather->cohorts.at[gather->cohorts.fresh[i]];

		cohort->has_rows = cohort->nr_alive != 0;
		cohort->last_number = gather->peak.number;
		if (!cohort->nr_alive)
			remove_cohort(gather, gather->cohorts.fresh[i]);
	}
	gather->cohorts.nr_ended = gather->cohorts.nr_fresh = 0;
	index_set_release(&gather->cohorts.by_likeness);
}

/* Except of blocks on the move. */
static void make_rows(struct heap_gather *gather)
{
	struct made_row *made;
	size_t nr;

	free_parts_of_rows(gather);
	made = xcalloc(2 * (gather->parts.nr + gather->cohorts.nr_fresh) + gather->maps.nr_pending,
		       sizeof(*made));
	nr = make_part_rows(gather, made);
	nr += make_rows_of_alive(gather, made + nr);
	nr += make_map_rows(&gather->maps, made + nr);
	add_rows(gather, made, nr);
	map_rows_end(&gather->maps);
	free(made);
	end_cohorts(gather);
	gather->parts.nr = 0;
	index_set_release(&gather->parts.by_likeness);
	/* The peak starts again from the current amount. */
	gather->peak.bytes = gather->alive.bytes;
	gather->peak.number = gather->number = 0;
	gather->peak.time_ns = gather->last_ns;
	gather->peak.nr++;
}

void heap_gather_flush(struct heap_gather *gather)
{
	for (size_t i = 0; i < MOVED_MAX; i++)
		end_moved(gather, &gather->moved[i]);
	make_rows(gather);
}

bool heap_gather_find(const struct heap_gather *gather, uint32_t process, uint64_t address,
		      uint32_t *row)
{
	struct block block;
	uint32_t at;

	if (!key_map_find(&gather->alive.places, process, address, &at))
		return false;
	block = block_at(gather, at);
	*row = row_of(gather, &block);
	return *row != NONE;
}

/* --- mappings --- */

uint32_t heap_gather_add_map(struct heap_gather *gather, const struct profile_allocation *row)
{
	struct profile_allocation own = *row;
	uint32_t number;

	if (gather->number == UINT32_MAX)
		heap_gather_flush(gather);
	gather->last_ns = max_u64(gather->last_ns, row->time_ns);
	own.time_ns = gather->last_ns;
	gather->number++;
	gather->alive.bytes += row->size_bytes;
	note_peak(gather, gather->last_ns);
	number = map_rows_add(&gather->maps, &own);
	if (gather->policy == HEAP_ROWS_EACH)
		make_rows(gather);
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
	end_row(gather->profile, row, freed, is_moved);
	gather->alive.bytes -= gather->profile->heap.allocations[row].size_bytes;
}

uint32_t heap_gather_map_row(const struct heap_gather *gather, uint32_t number)
{
	uint32_t row = NONE;

	map_rows_find(&gather->maps, number, &row);
	return row;
}

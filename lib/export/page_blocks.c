// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page's blocks of memory: the amounts that each represents, and the metrics that it belongs
 * to.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/index_set.h"
#include "base/json.h"
#include "base/minmax.h"
#include "calltree/leaks.h"
#include "calltree/lifetime.h"
#include "calltree/observe.h"
#include "calltree/wait_function.h"
#include "export/extract_priv.h"
#include "export/page_data_priv.h"
#include "export/page_resident_priv.h"
#include "profile/profile.h"

/* Bits of the column of metrics: whether a block is one of … */
static const enum metric flag_metrics[] = {METRIC_LIVE, METRIC_LEAKED, METRIC_TEMPORARY,
					   METRIC_PEAK, METRIC_ALLOC,  METRIC_FREED};

#define FLAG_FREED (1U << 5)
#define FLAG_LEFT  (1U << 6) /* of the leaks: it has a row in the columns of these */

/* The blocks of one metric, in the order of a walk; the caller frees them. */
static struct observation *observe(struct page_data *data, enum metric metric, size_t *nr)
{
	size_t most = data->extract->profile->heap.nr_allocations;
	struct observation *blocks = xcalloc(most, sizeof(*blocks));
	struct observation_walk walk;

	*nr = 0;
	observation_walk_init(&walk, data->extract->selection, metric);
	while (*nr < most && observation_walk_next(&walk, &blocks[*nr]))
		(*nr)++;
	data->memory.fixed_bytes = walk.estimate.fixed_bytes;
	data->memory.fixed_blocks = walk.estimate.fixed_blocks;
	data->memory.lost_bytes = walk.estimate.lost_bytes;
	data->memory.lost_blocks = walk.estimate.lost_blocks;
	if (metric == METRIC_PEAK)
		data->memory.peak_ns = walk.at_ns;
	if (metric == METRIC_LIVE)
		data->memory.live_ns = walk.at_ns;
	observation_walk_release(&walk);
	return blocks;
}

static bool knows_freeing(const struct page_data *data)
{
	return data->extract->profile->meta.knows_freeing;
}

static void meet(struct page_data *data, enum metric metric)
{
	size_t nr;
	struct observation *blocks = observe(data, metric, &nr);

	for (size_t i = 0; i < nr; i++)
		(void)page_meet(data, &blocks[i].sample);
	free(blocks);
}

/* Blocks that were allocated before the profile are of no METRIC_ALLOC. */
static void meet_earlier(struct page_data *data, enum metric metric)
{
	const struct profile_allocation *rows = data->extract->profile->heap.allocations;
	size_t nr;
	struct observation *blocks = observe(data, metric, &nr);

	for (size_t i = 0; i < nr; i++) {
		if (rows[blocks[i].row].is_earlier)
			(void)page_meet(data, &blocks[i].sample);
	}
	free(blocks);
}

void page_blocks_meet(struct page_data *data)
{
	static const enum metric of_earlier[] = {METRIC_LIVE, METRIC_LEAKED, METRIC_PEAK};

	if (!data->extract->profile->heap.nr_allocations)
		return;
	meet(data, METRIC_ALLOC);
	for (size_t i = 0; i < ARRAY_SIZE(of_earlier); i++)
		meet_earlier(data, of_earlier[i]);
	if (knows_freeing(data))
		meet(data, METRIC_FREED);
}

void page_blocks_weigh(struct page_data *data, uint64_t *weights)
{
	size_t nr;
	struct observation *blocks = observe(data, data->extract->options->metric, &nr);

	for (size_t i = 0; i < nr; i++)
		weights[path_of(data->paths, &blocks[i].sample).v] += blocks[i].weight;
	free(blocks);
}

/*
 * The amounts that a block represents. Programs allocate blocks of few sizes, so there are few
 * different kinds, and these have numbers.
 */
struct block_kind {
	uint64_t bytes, known, error, blocks;
	uint64_t size_bytes; /* the mean of its blocks' */
	uint32_t allocator;  /* enum allocation_kind */
	uint32_t nr_uses, number;
};

struct block_kinds {
	struct block_kind *kinds;
	uint32_t nr;
	size_t cap;
	struct index_set index;
};

/* A row of the profile that is a block of the page, allocated or freed in the selection. */
struct block {
	struct observation seen; /* where it was allocated, if that is selected */
	struct sample freed;	 /* where it was freed; with FLAG_FREED */
	uint32_t kind;
	uint8_t flags;
};

struct blocks {
	struct block *rows; /* of the profile; of those without flags there is nothing */
	size_t nr;
	struct block_kinds kinds;
	struct left_block *left; /* those of the leaks */
	size_t nr_left;
};

static bool kind_equal(const void *owner, uint32_t index, const void *key)
{
	const struct block_kinds *kinds = owner;
	const struct block_kind *a = &kinds->kinds[index], *b = key;

	return a->bytes == b->bytes && a->known == b->known && a->error == b->error &&
	       a->blocks == b->blocks && a->size_bytes == b->size_bytes &&
	       a->allocator == b->allocator;
}

static uint32_t kind_index(struct block_kinds *kinds, const struct block_kind *kind)
{
	uint64_t hash = hash_mix(hash_mix(hash_u64(kind->bytes), kind->known),
				 kind->blocks << 8 | kind->allocator);
	uint32_t index = index_set_find(&kinds->index, hash, kind_equal, kinds, kind);

	if (index == INDEX_NONE) {
		ARRAY_GROW(kinds->kinds, kinds->nr, kinds->cap);
		index = kinds->nr++;
		kinds->kinds[index] = *kind;
		index_set_add(&kinds->index, hash, index);
	}
	kinds->kinds[index].nr_uses++;
	return index;
}

/* Rounded to within a hundredth: half the width of an interval needs no more digits. */
static uint64_t rounded_error(double square)
{
	uint64_t error = (uint64_t)llround(sqrt(square)), step = 1;

	while (error / step >= 128)
		step *= 2;
	return (error + step / 2) / step * step;
}

static void note(struct page_data *data, struct blocks *blocks, size_t bit)
{
	size_t nr;
	struct observation *met = observe(data, flag_metrics[bit], &nr);

	for (size_t i = 0; i < nr; i++) {
		struct block *block = &blocks->rows[met[i].row];

		block->flags |= (uint8_t)(1 << bit);
		if (flag_metrics[bit] == METRIC_FREED)
			block->freed = met[i].sample;
		if (flag_metrics[bit] != METRIC_FREED || block->flags == FLAG_FREED)
			block->seen = met[i];
	}
	free(met);
}

/* METRIC_ALLOCS has no blocks that were allocated before the profile. */
static uint64_t count_of(const struct block *block, uint64_t allocated)
{
	return allocated ? allocated : (uint64_t)llround(block->seen.blocks);
}

static struct block_kind kind_of(const struct profile_allocation *row, const struct block *block,
				 uint64_t allocated)
{
	return (struct block_kind){.bytes = block->seen.weight,
				   .known = block->seen.known,
				   .error = rounded_error(block->seen.square),
				   .blocks = count_of(block, allocated),
				   .size_bytes = row->size_bytes / ((uint64_t)row->nr_more + 1),
				   .allocator = row->kind};
}

static void note_left(struct page_data *data, struct blocks *blocks)
{
	const struct leaks_request request = {0};
	struct leaks *leaks = leaks_new(data->extract->selection, &request);

	blocks->left = leaks_blocks(leaks, &blocks->nr_left);
	data->memory.late_ns = leaks->all_late_ns;
	leaks_free(leaks);
	for (size_t i = 0; i < blocks->nr_left; i++)
		blocks->rows[blocks->left[i].row].flags |= (uint8_t)FLAG_LEFT;
}

static void blocks_init(struct blocks *blocks, struct page_data *data)
{
	const struct profile_allocation *rows = data->extract->profile->heap.allocations;
	size_t nr;
	struct observation *counts = observe(data, METRIC_ALLOCS, &nr);
	cleanup_free uint64_t *count_of_row = NULL;

	*blocks = (struct blocks){.nr = data->extract->profile->heap.nr_allocations};
	blocks->rows = xcalloc(blocks->nr, sizeof(*blocks->rows));
	count_of_row = xcalloc(blocks->nr, sizeof(*count_of_row));
	for (size_t i = 0; i < nr; i++)
		count_of_row[counts[i].row] = counts[i].weight;
	free(counts);
	for (size_t bit = 0; bit < ARRAY_SIZE(flag_metrics); bit++)
		if (flag_metrics[bit] != METRIC_FREED || knows_freeing(data))
			note(data, blocks, bit);
	note_left(data, blocks);
	for (size_t i = 0; i < blocks->nr; i++) {
		struct block *block = &blocks->rows[i];
		const struct block_kind kind = kind_of(&rows[i], block, count_of_row[i]);

		if (block->flags)
			block->kind = kind_index(&blocks->kinds, &kind);
	}
}

static void blocks_release(struct blocks *blocks)
{
	free(blocks->rows);
	free(blocks->left);
	free(blocks->kinds.kinds);
	index_set_release(&blocks->kinds.index);
}

static int most_used_first(const void *left, const void *right)
{
	const struct block_kind *const *a = left, *const *b = right;

	if ((*a)->nr_uses != (*b)->nr_uses)
		return (*a)->nr_uses < (*b)->nr_uses ? 1 : -1;
	return (*a > *b) - (*a < *b);
}

static void write_kinds(struct page_data *data, struct block_kinds *kinds)
{
	struct page_columns *columns = &data->columns;
	struct block_kind **sorted = xcalloc(kinds->nr, sizeof(struct block_kind *));

	for (uint32_t i = 0; i < kinds->nr; i++)
		sorted[i] = &kinds->kinds[i];
	if (kinds->nr)
		qsort(sorted, kinds->nr, sizeof(struct block_kind *), most_used_first);
	for (uint32_t i = 0; i < kinds->nr; i++)
		sorted[i]->number = i;
	page_columns_begin(columns, "kindBytes");
	for (uint32_t i = 0; i < kinds->nr; i++)
		page_columns_add(columns, sorted[i]->bytes);
	page_columns_begin(columns, "kindEstimated");
	for (uint32_t i = 0; i < kinds->nr; i++)
		page_columns_add(columns, sorted[i]->bytes - sorted[i]->known);
	page_columns_begin(columns, "kindError");
	for (uint32_t i = 0; i < kinds->nr; i++)
		page_columns_add(columns, sorted[i]->error);
	page_columns_begin(columns, "kindBlocks");
	for (uint32_t i = 0; i < kinds->nr; i++)
		page_columns_add(columns, sorted[i]->blocks);
	page_columns_begin(columns, "kindSize");
	for (uint32_t i = 0; i < kinds->nr; i++)
		page_columns_add(columns, sorted[i]->size_bytes);
	page_columns_begin(columns, "kindAllocator");
	for (uint32_t i = 0; i < kinds->nr; i++)
		page_columns_add(columns, sorted[i]->allocator);
	free(sorted);
}

static void write_times(struct page_data *data, const struct blocks *blocks)
{
	const struct profile_allocation *rows = data->extract->profile->heap.allocations;
	uint64_t before = 0;

	page_columns_begin(&data->columns, "blockTime");
	for (size_t i = 0; i < blocks->nr; i++) {
		uint64_t at = rows[i].time_ns / PAGE_BLOCK_GRAIN_NS;

		if (!blocks->rows[i].flags)
			continue;
		page_columns_add_signed(&data->columns, (int64_t)(at - before));
		before = at;
	}
	/* And 1; 0: it was not freed. */
	page_columns_begin(&data->columns, "blockLife");
	for (size_t i = 0; i < blocks->nr; i++) {
		uint64_t grain_ns = data->life_grain_ns, from = rows[i].time_ns / grain_ns,
			 to = rows[i].freed_ns / grain_ns;

		if (blocks->rows[i].flags)
			page_columns_add(&data->columns,
					 rows[i].freed_ns ? max_u64(to, from) - from + 1 : 0);
	}
}

static void write_sites(struct page_data *data, const struct blocks *blocks)
{
	page_columns_begin(&data->columns, "blockThread");
	for (size_t i = 0; i < blocks->nr; i++)
		if (blocks->rows[i].flags)
			page_columns_add(
				&data->columns,
				numbering_of(&data->threads, blocks->rows[i].seen.sample.thread.v));
	page_columns_begin(&data->columns, "blockLeaf");
	for (size_t i = 0; i < blocks->nr; i++)
		if (blocks->rows[i].flags)
			page_columns_add(&data->columns,
					 page_leaf(data, &blocks->rows[i].seen.sample));
	page_columns_begin(&data->columns, "blockKind");
	for (size_t i = 0; i < blocks->nr; i++)
		if (blocks->rows[i].flags)
			page_columns_add(&data->columns,
					 blocks->kinds.kinds[blocks->rows[i].kind].number);
	page_columns_begin(&data->columns, "blockFlags");
	for (size_t i = 0; i < blocks->nr; i++)
		if (blocks->rows[i].flags)
			page_columns_add(&data->columns, blocks->rows[i].flags);
}

/*
 * Blocks that share a row count as alive from the last birth to the first end of them: by how long
 * each lived in the mean beside that.
 */
static void write_unseen(struct page_data *data, const struct blocks *blocks)
{
	const struct profile_allocation *rows = data->extract->profile->heap.allocations;

	page_columns_begin(&data->columns, "blockUnseen");
	for (size_t i = 0; i < blocks->nr; i++) {
		uint64_t seen_ns = rows[i].freed_ns - min_u64(rows[i].time_ns, rows[i].freed_ns);

		if (blocks->rows[i].flags)
			page_columns_add(&data->columns,
					 (rows[i].life_ns - min_u64(seen_ns, rows[i].life_ns)) /
						 PAGE_BLOCK_GRAIN_NS);
	}
}

/* Columns of the freed blocks only. */
static void write_freed(struct page_data *data, const struct blocks *blocks)
{
	page_columns_begin(&data->columns, "freedThread");
	for (size_t i = 0; i < blocks->nr; i++)
		if (blocks->rows[i].flags & FLAG_FREED)
			page_columns_add(
				&data->columns,
				numbering_of(&data->threads, blocks->rows[i].freed.thread.v));
	page_columns_begin(&data->columns, "freedLeaf");
	for (size_t i = 0; i < blocks->nr; i++)
		if (blocks->rows[i].flags & FLAG_FREED)
			page_columns_add(&data->columns, page_leaf(data, &blocks->rows[i].freed));
}

/* How long blocks lived, as reports by lifetime class it. */
static void write_lifetimes(struct page_data *data, const struct blocks *blocks)
{
	struct heap_lives lives;

	heap_lives_init(&lives, data->extract->profile);
	page_columns_begin(&data->columns, "blockLifetime");
	for (size_t i = 0; i < blocks->nr; i++) {
		struct heap_life life;

		if (!blocks->rows[i].flags)
			continue;
		life = heap_life_of(&lives, (uint32_t)i);
		page_columns_add(&data->columns, lifetime_of(&life));
	}
	heap_lives_release(&lives);
}

/* Columns of the blocks of the leaks only. */
static void write_left(struct page_data *data, const struct blocks *blocks)
{
	page_columns_begin(&data->columns, "leftAge");
	for (size_t i = 0; i < blocks->nr_left; i++)
		page_columns_add(&data->columns, blocks->left[i].age_ns / data->life_grain_ns);
	page_columns_begin(&data->columns, "leftLate");
	for (size_t i = 0; i < blocks->nr_left; i++)
		page_columns_add(&data->columns, blocks->left[i].late_bytes);
	page_columns_begin(&data->columns, "leftSearch");
	for (size_t i = 0; i < blocks->nr_left; i++)
		page_columns_add(&data->columns, blocks->left[i].search);
}

static void note_site(struct page_data *data, const uint32_t *functions,
		      const struct sample *sample, uint32_t *levels)
{
	uint32_t leaf = page_leaf(data, sample), label = functions[sample->stack.v];

	if (!levels[leaf] && label != WAIT_FUNCTION_NONE)
		levels[leaf] = page_levels_to(data, data->leaves.ids[leaf], label);
}

/* The function outside the C library, and the like, that allocated or freed. */
static void write_leaf_sites(struct page_data *data, const struct blocks *blocks)
{
	cleanup_free uint32_t *functions = wait_functions_of_stacks(page_expansion(data));
	cleanup_free uint32_t *levels = xcalloc(data->leaves.nr, sizeof(*levels));

	for (size_t i = 0; i < blocks->nr; i++) {
		const struct block *block = &blocks->rows[i];

		if (block->flags)
			note_site(data, functions, &block->seen.sample, levels);
		if (block->flags & FLAG_FREED)
			note_site(data, functions, &block->freed, levels);
	}
	page_columns_begin(&data->columns, "leafSite");
	for (uint32_t i = 0; i < data->leaves.nr; i++)
		page_columns_add(&data->columns, levels[i]);
}

void page_blocks_write(struct page_data *data)
{
	const struct profile *profile = data->extract->profile;
	struct blocks blocks;

	data->life_grain_ns = PAGE_BLOCK_GRAIN_NS;
	if (profile->heap.nr_allocations > PAGE_BLOCKS_EXACT)
		data->life_grain_ns =
			max_u64(PAGE_BLOCK_GRAIN_NS, profile->meta.duration_ns / PAGE_LIFE_PARTS);
	if (!profile->heap.nr_allocations)
		return;
	blocks_init(&blocks, data);
	write_kinds(data, &blocks.kinds);
	write_times(data, &blocks);
	write_sites(data, &blocks);
	write_freed(data, &blocks);
	write_lifetimes(data, &blocks);
	write_left(data, &blocks);
	for (size_t i = 0; i < blocks.nr && !data->memory.shares_rows; i++)
		data->memory.shares_rows = profile->heap.allocations[i].nr_more;
	if (data->memory.shares_rows)
		write_unseen(data, &blocks);
	write_leaf_sites(data, &blocks);
	if (data->extract->selection->everything)
		page_resident_write(profile, &data->columns);
	for (size_t i = 0; i < blocks.nr; i++)
		if (blocks.rows[i].flags & ~FLAG_FREED)
			data->memory.nr_recorded += blocks.rows[i].seen.sample.nr;
	blocks_release(&blocks);
}

static void write_names(struct json *json)
{
	json_key_array_begin(json, "lifetimes");
	for (int i = 0; i < LIFETIME_COUNT; i++)
		json_str(json, lifetime_name((enum lifetime)i));
	json_array_end(json);
	json_key_array_begin(json, "allocators");
	for (int i = 0; i < ALLOCATION_KIND_COUNT; i++)
		json_str(json, allocation_kind_name((enum allocation_kind)i));
	json_array_end(json);
}

void page_blocks_write_members(const struct page_data *data, struct json *json)
{
	if (data->extract->profile->heap.nr_allocations)
		write_names(json);
	json_key_u64(json, "peakNs", data->memory.peak_ns);
	json_key(json, "liveNs"); /* null: the end */
	if (data->memory.live_ns == HEAP_AT_END)
		json_null(json);
	else
		json_u64(json, data->memory.live_ns);
	json_key_u64(json, "lateNs", data->memory.late_ns);
	json_key_bool(json, "sharesRows", data->memory.shares_rows);
	json_key_u64(json, "blockGrainNs", PAGE_BLOCK_GRAIN_NS);
	json_key_u64(json, "lifeGrainNs", data->life_grain_ns);
	json_key_u64(json, "recordedBlocks", data->memory.nr_recorded);
	json_key(json, "fixedBytes");
	json_double(json, data->memory.fixed_bytes, 0);
	json_key(json, "fixedBlocks");
	json_double(json, data->memory.fixed_blocks, 0);
	json_key(json, "lostBytes");
	json_double(json, data->memory.lost_bytes, 0);
	json_key(json, "lostBlocks");
	json_double(json, data->memory.lost_blocks, 0);
}

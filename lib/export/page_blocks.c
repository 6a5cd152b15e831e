// SPDX-License-Identifier: GPL-2.0-or-later
/* The blocks of memory of the page: what each stands for, and of which metrics it is. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/observe.h"
#include "export/extract_priv.h"
#include "export/page_data_priv.h"
#include "profile/profile.h"

/* Bits of the column of metrics: whether a block is one of … */
static const enum metric flag_metrics[] = {METRIC_LIVE, METRIC_LEAKED, METRIC_TEMPORARY,
					   METRIC_PEAK};

/* Blocks of one metric, as a walk meets them; the caller frees them. */
static struct observation *observe(const struct page_data *data, enum metric metric, size_t *nr)
{
	size_t most = data->extract->profile->heap.nr_allocations;
	struct observation *blocks = xcalloc(most, sizeof(*blocks));
	struct observation_walk walk;

	*nr = 0;
	observation_walk_init(&walk, data->extract->selection, metric);
	while (*nr < most && observation_walk_next(&walk, &blocks[*nr]))
		(*nr)++;
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
		page_meet(data, &blocks[i].sample);
	free(blocks);
}

void page_blocks_meet(struct page_data *data)
{
	if (!data->extract->profile->heap.nr_allocations)
		return;
	meet(data, METRIC_ALLOC);
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

/* Where, when, and how much: columns of any metric. */
struct block_names {
	const char *time, *thread, *leaf, *bytes, *known, *error;
};

static void write_sites(struct page_data *data, const struct block_names *names,
			const struct observation *blocks, size_t nr)
{
	uint64_t before = 0;

	page_columns_begin(&data->columns, names->time);
	for (size_t i = 0; i < nr; i++) {
		uint64_t at = blocks[i].sample.time_ns / PAGE_BLOCK_GRAIN_NS;

		page_columns_add_signed(&data->columns, (int64_t)(at - before));
		before = at;
	}
	page_columns_begin(&data->columns, names->thread);
	for (size_t i = 0; i < nr; i++)
		page_columns_add(&data->columns,
				 numbering_of(&data->threads, blocks[i].sample.thread.v));
	page_columns_begin(&data->columns, names->leaf);
	for (size_t i = 0; i < nr; i++)
		page_columns_add(&data->columns, page_leaf(data, &blocks[i].sample));
}

/* To within a hundredth: half the width of an interval need not be known better. */
static uint64_t rounded_error(double square)
{
	uint64_t error = (uint64_t)llround(sqrt(square)), step = 1;

	while (error / step >= 128)
		step *= 2;
	return (error + step / 2) / step * step;
}

static void write_sizes(struct page_data *data, const struct block_names *names,
			const struct observation *blocks, size_t nr)
{
	page_columns_begin(&data->columns, names->bytes);
	for (size_t i = 0; i < nr; i++)
		page_columns_add(&data->columns, blocks[i].weight);
	page_columns_begin(&data->columns, names->known);
	for (size_t i = 0; i < nr; i++)
		page_columns_add(&data->columns, blocks[i].known);
	page_columns_begin(&data->columns, names->error);
	for (size_t i = 0; i < nr; i++)
		page_columns_add(&data->columns, rounded_error(blocks[i].square));
}

/* How long each was there, and 1; 0: it was not freed. */
static void write_lives(struct page_data *data, const struct observation *blocks, size_t nr)
{
	const struct profile_heap *heap = &data->extract->profile->heap;

	page_columns_begin(&data->columns, "blockLife");
	for (size_t i = 0; i < nr; i++) {
		const struct profile_allocation *row = &heap->allocations[blocks[i].row];
		uint64_t from = row->time_ns / PAGE_BLOCK_GRAIN_NS,
			 to = row->freed_ns / PAGE_BLOCK_GRAIN_NS;

		page_columns_add(&data->columns, !row->freed_ns ? 0
						 : to > from	? to - from + 1
								: 1);
	}
}

static void write_counts(struct page_data *data)
{
	size_t nr;
	struct observation *blocks = observe(data, METRIC_ALLOCS, &nr);

	page_columns_begin(&data->columns, "blockBlocks");
	for (size_t i = 0; i < nr; i++)
		page_columns_add(&data->columns, blocks[i].weight);
	free(blocks);
}

static void write_flags(struct page_data *data, const struct observation *blocks, size_t nr)
{
	cleanup_free uint8_t *flags =
		xcalloc(data->extract->profile->heap.nr_allocations, sizeof(*flags));

	for (size_t bit = 0; bit < ARRAY_SIZE(flag_metrics); bit++) {
		size_t nr_of_metric;
		struct observation *of_metric = observe(data, flag_metrics[bit], &nr_of_metric);

		for (size_t i = 0; i < nr_of_metric; i++)
			flags[of_metric[i].row] |= (uint8_t)(1 << bit);
		free(of_metric);
	}
	page_columns_begin(&data->columns, "blockFlags");
	for (size_t i = 0; i < nr; i++)
		page_columns_add(&data->columns, flags[blocks[i].row]);
}

static void write_freed(struct page_data *data)
{
	static const struct block_names names = {"freedTime",  "freedThread", "freedLeaf",
						 "freedBytes", "freedKnown",  "freedError"};
	size_t nr;
	struct observation *blocks = observe(data, METRIC_FREED, &nr);

	write_sites(data, &names, blocks, nr);
	write_sizes(data, &names, blocks, nr);
	free(blocks);
}

void page_blocks_write(struct page_data *data)
{
	static const struct block_names names = {"blockTime",  "blockThread", "blockLeaf",
						 "blockBytes", "blockKnown",  "blockError"};
	struct observation *blocks;
	size_t nr;

	if (!data->extract->profile->heap.nr_allocations)
		return;
	blocks = observe(data, METRIC_ALLOC, &nr);
	write_sites(data, &names, blocks, nr);
	write_sizes(data, &names, blocks, nr);
	write_lives(data, blocks, nr);
	write_counts(data);
	write_flags(data, blocks, nr);
	free(blocks);
	if (knows_freeing(data))
		write_freed(data);
}

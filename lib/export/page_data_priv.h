/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_EXPORT_PAGE_DATA_PRIV_H
#define PROFC_EXPORT_PAGE_DATA_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/diff.h"
#include "export/numbering_priv.h"
#include "export/page_columns_priv.h"
#include "export/rows_priv.h"

struct covered;
struct expansion;
struct extract;
struct json;
struct page_waits;
struct path_maker;
struct sample;
struct sink;

#define PAGE_NO_FUNCTION (-1)

/* How two profiles differ in a metric, by which the page judges changes as diff does. */
struct page_noise {
	enum metric metric;
	struct diff_noise noise;
	double quantile; /* as in struct diff */
};

/* Which functions of an old profile are in the data of the new one. */
struct page_match {
	const int64_t *functions; /* by label of the old one: number in the data of the new one, or
				     PAGE_NO_FUNCTION */
	const char *mode;	  /* "amounts" or "shares" */
	const struct page_noise *noises;
	size_t nr_noises;
};

/* The facts about all blocks of memory. */
struct page_memory {
	uint64_t nr_recorded;
	bool shares_rows; /* between rows it may lack short-lived blocks (profile/heap_gather.h) */
	/* The moments of METRIC_PEAK and METRIC_LIVE, and the time of struct leak's late_bytes. */
	uint64_t peak_ns, live_ns, late_ns;
	/* As struct heap_estimate has them. */
	double fixed_bytes, fixed_blocks, lost_bytes, lost_blocks;
};

/*
 * The data of the page of --html: a JSON text with the few items that have names, a newline, and
 * columns of numbers. lib/export/page/data.js reads it and documents the columns.
 */
struct page_data {
	const struct extract *extract; /* borrowed, of PATH_FRAMES */
	struct rows rows;	       /* of all stacks of all metrics */
	uint32_t *node_of_row;	       /* numbers of nodes ascend with rows */
	struct path_maker *paths;
	uint32_t *uses; /* by path: the number of its occurrences */
	size_t nr_uses;
	struct covered *samples; /* private to page_samples.c: all selected, thread by thread */
	size_t nr_samples;
	struct page_waits *waits;   /* owned; private to page_waits.c */
	struct numbering functions; /* of labels */
	struct numbering modules, files, threads, processes;
	struct numbering leaves; /* of rows of stacks */
	struct page_columns columns;
	/* The old side of a comparison, borrowed; else NULL. */
	const struct page_match *match;
	uint64_t grain_ns;	/* times and weights of samples are multiples of it */
	uint64_t life_grain_ns; /* lifetimes of blocks are multiples of this */
	struct page_memory memory;
	bool is_alone; /* not of a comparison */
};

/* Recordings of more samples have times in multiples of this: a page is to be sent around. */
#define PAGE_SAMPLES_EXACT 200000
#define PAGE_GRAIN_NS	   UINT64_C(4096)
/*
 * Times of blocks have the grain of the file; but with more blocks than this, their lifetimes are
 * multiples of this part of the recording.
 */
#define PAGE_BLOCK_GRAIN_NS UINT64_C(1024)
#define PAGE_BLOCKS_EXACT   200000
#define PAGE_LIFE_PARTS	    8192

void page_data_init(struct page_data *data, const struct extract *extract);
/*
 * Writes to memory, since a page packs it; returns how many bytes there are before the columns of
 * rows, which are those of samples, blocks and the like. Call once.
 */
size_t page_data_write(struct page_data *data, struct sink *sink);
void page_data_release(struct page_data *data);
/* That of the extract; borrowed. */
const struct expansion *page_expansion(const struct page_data *data);

/*
 * The steps of page_data_write(). First all stacks are collected and weighed, and sorted by weight;
 * then their columns are written, and after these the columns of samples, blocks and advances of
 * counters, which refer to leaves.
 */
/* Returns the path of the sample. */
uint32_t page_meet(struct page_data *data, const struct sample *sample);
void page_samples_meet(struct page_data *data);
void page_blocks_meet(struct page_data *data);
void page_advances_meet(struct page_data *data);
/* Add the weights of the stacks in the page's first metric, by path. */
void page_samples_weigh(struct page_data *data, uint64_t *weights);
void page_blocks_weigh(struct page_data *data, uint64_t *weights);
void page_advances_weigh(struct page_data *data, uint64_t *weights);
/* Puts `rows` into the order of the first view, by weights of paths. */
void page_stacks_sort(struct page_data *data, const uint64_t *weights);
void page_stacks_write(struct page_data *data);
/* The number of a sample's stack among those that samples or blocks have. */
uint32_t page_leaf(struct page_data *data, const struct sample *sample);
/*
 * How many levels of the row's stack are from its leaf to the function, both included; 0: it has no
 * such function.
 */
uint32_t page_levels_to(const struct page_data *data, uint32_t row, uint32_t label);
/*
 * After the leaves: threads that have samples; and of a large page the sums that it shows first, by
 * group of threads and leaf.
 */
void page_threads_write(struct page_data *data);
void page_samples_write(struct page_data *data);
/* A selected sample; `i` is below nr_samples. Borrowed. */
const struct sample *page_sample(const struct page_data *data, size_t i);
/* After the columns of samples. */
void page_waits_write(struct page_data *data);
void page_waits_free(struct page_waits *waits);
void page_blocks_write(struct page_data *data);
void page_advances_write(struct page_data *data);
/* Does the page have elapsed time? */
bool page_has_elapsed(const struct extract *extract);
/* After the columns: members of the open object. */
void page_blocks_write_members(const struct page_data *data, struct json *json);
/* Before the tables of threads and functions: members of the open object. */
void page_waits_write_members(struct page_data *data, struct json *json);
/* Members of the open object. */
void page_calls_write(struct page_data *data, struct json *json);
void page_sources_write(struct page_data *data, struct json *json);
/* Only where there is someone to disassemble: the columns, and then the member. */
void page_addresses_write(struct page_data *data);
void page_code_write(struct page_data *data, struct json *json);

#endif

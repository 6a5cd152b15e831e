// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the counters in the memory of probes. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "inject/region.h"
#include "patch/span.h"

static _Atomic uint64_t *word_of(const struct region *region,
				 const struct region_counters *counters, uint64_t copy,
				 uint64_t index)
{
	uint8_t *first = region->data + (copy << counters->shard_log2);

	return (_Atomic uint64_t *)(void *)first + index;
}

static uint64_t counter_in(const struct region *region, const struct region_counters *counters,
			   uint64_t copy, uint64_t index)
{
	return atomic_load_explicit(word_of(region, counters, copy, index), memory_order_relaxed);
}

/* Copies without an owner yet are not read: that would take memory for them. */
static uint64_t nr_used(const struct region *region, const struct region_counters *counters)
{
	uint64_t claimed =
		counter_in(region, counters, 0, region_counter_index(counters, REGION_CLAIMED));

	return counters->nr_shards + min_u64(claimed, counters->nr_own);
}

uint64_t region_counter(const struct region *region, const struct region_counters *counters,
			uint64_t index)
{
	uint64_t nr = nr_used(region, counters), sum = 0;

	for (uint64_t i = 0; i < nr; i++)
		sum += counter_in(region, counters, i, index);
	return sum;
}

/* From *from on, the next part of the data that is there. False: there is none before `end`. */
static bool find_there(const struct region *region, uint64_t *from, uint64_t *to, uint64_t end)
{
	off_t start, stop;

	*to = end;
	if (!region->has_file || *from >= end)
		return *from < end;
	start = lseek(region->file, (off_t)*from, SEEK_DATA);
	if (start < 0 || (uint64_t)start >= end)
		return start < 0 && errno != ENXIO;
	stop = lseek(region->file, start, SEEK_HOLE);
	*from = (uint64_t)start;
	if (stop > start)
		*to = min_u64((uint64_t)stop, end);
	return true;
}

void region_read_counters(const struct region *region, const struct region_counters *counters,
			  uint64_t *sums)
{
	uint64_t nr = nr_used(region, counters), nr_bytes = counters->nr * sizeof(*sums);

	memset(sums, 0, (size_t)nr_bytes);
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t first = i << counters->shard_log2, from, to;

		for (from = first; find_there(region, &from, &to, first + nr_bytes); from = to) {
			for (uint64_t at = from; at < to; at += sizeof(*sums))
				sums[(at - first) / sizeof(*sums)] += counter_in(
					region, counters, i, (at - first) / sizeof(*sums));
		}
	}
}

void region_set_counter(const struct region *region, const struct region_counters *counters,
			enum region_counter which, uint64_t value)
{
	uint64_t index = region_counter_index(counters, which);

	atomic_store_explicit(word_of(region, counters, 0, index), value, memory_order_relaxed);
}

static void read_span(const struct region *region, const struct region_counters *counters,
		      uint64_t copy, uint32_t index, struct patch_span *span)
{
	uint64_t words[sizeof(*span) / sizeof(uint64_t)] = {0};
	uint64_t first = region_span_offset(counters, index) / sizeof(uint64_t);

	for (uint64_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = counter_in(region, counters, copy, first + i);
	memcpy(span, words, sizeof(*span));
}

void region_forget_longest(const struct region *region, const struct region_counters *counters,
			   uint32_t index)
{
	const uint64_t at =
		region_span_offset(counters, index) + offsetof(struct patch_span, longest);
	uint64_t nr = nr_used(region, counters);

	for (uint64_t i = counters->nr_shards; i < nr; i++)
		atomic_store_explicit(word_of(region, counters, i, at / sizeof(uint64_t)), 0,
				      memory_order_relaxed);
}

/* Its thread may have had a longer one since it was read: a few times at most. */
#define TAKE_TRIES 3

/* One that ends at this moment may be taken the next time. */
static void take_longest(const struct region *region, const struct region_counters *counters,
			 uint64_t copy, uint32_t index, struct patch_span *span)
{
	const uint64_t at =
		region_span_offset(counters, index) + offsetof(struct patch_span, longest);
	_Atomic uint64_t *word = word_of(region, counters, copy, at / sizeof(uint64_t));

	for (int i = 0; i < TAKE_TRIES; i++) {
		uint64_t seen = span->longest;

		if (!seen || atomic_compare_exchange_strong(word, &seen, 0))
			return;
		read_span(region, counters, copy, index, span);
	}
}

uint64_t region_span(const struct region *region, const struct region_counters *counters,
		     uint32_t index, bool takes_longest, struct patch_span *sum)
{
	uint64_t nr = nr_used(region, counters);
	struct patch_span span;

	*sum = (struct patch_span){.nr_begun = 0};
	for (uint64_t i = counters->nr_shards; i < nr; i++) {
		read_span(region, counters, i, index, &span);
		if (takes_longest)
			take_longest(region, counters, i, index, &span);
		sum->nr_begun += span.nr_begun;
		sum->total += span.total;
		for (size_t k = 0; k < PATCH_SPAN_LENGTHS; k++)
			sum->nr[k] += span.nr[k];
		if (span.longest <= sum->longest)
			continue;
		sum->longest = span.longest;
		sum->longest_begin = span.longest_begin;
		sum->longest_tid = span.longest_tid;
	}
	return nr - counters->nr_shards;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Decodes the records of memory. */
#include "store/reader_priv.h"
#include "store/schema_coder_priv.h"

#define GRAINS_MAX (TIME_MAX_NS / SAMPLE_TIME_GRAIN_NS)

/* The time of freeing: 0 is "never", else one more than the grains of its life. */
static uint64_t read_end(struct columns_in *in, uint64_t time_ns)
{
	uint64_t life = columns_in_bounded(in, ALLOCATIONS_LIFE, GRAINS_MAX);

	return life ? time_ns + (life - 1) * SAMPLE_TIME_GRAIN_NS : 0;
}

/* Read the columns about freeing, for a row that has its time. */
static void read_freeing(const struct profile *profile, struct columns_in *in,
			 struct profile_allocation *row)
{
	row->freed_ns = read_end(in, row->time_ns);
	row->freed_by.v =
		(uint32_t)columns_in_bounded(in, ALLOCATIONS_FREED_BY, profile->nr_threads) - 1;
	row->is_moved = columns_in_bounded(in, ALLOCATIONS_MOVED, 1);
	row->freed_stack.v =
		columns_in_index(in, ALLOCATIONS_FREED_STACK, stack_trie_nr(profile->stacks));
	row->freed_end = (uint8_t)columns_in_bounded(in, ALLOCATIONS_FREED_END, STACK_END_COUNT);
	if ((row->is_moved || row->freed_end) && !row->freed_ns)
		in->failed = true;
	if (row->freed_end && row->freed_by.v == THREAD_NONE.v)
		in->failed = true;
}

static bool take_freed(struct reader *reader, struct columns_in *in, uint32_t row)
{
	struct profile *profile = reader->profile;
	struct profile_allocation said = {.time_ns = profile->heap.allocations[row].time_ns};

	read_freeing(profile, in, &said);
	if (in->failed || profile->heap.allocations[row].freed_ns || !said.freed_ns ||
	    said.freed_ns > TIME_MAX_NS)
		return false;
	profile_free_allocation(profile, row, said.freed_ns, said.freed_by);
	if (profile->heap.allocations[row].nr_more)
		profile_set_mean_life(profile, row,
				      columns_in_bounded(in, ALLOCATIONS_LIVED, TIME_MAX_NS));
	if (said.is_moved)
		profile_move_allocation(profile, row);
	if (said.freed_end)
		profile_note_freeing(profile, row, said.freed_stack,
				     (enum stack_end)(said.freed_end - 1));
	return true;
}

/* The former row must be marked as moved, by an earlier record. */
static uint32_t read_former(const struct profile_heap *heap, struct columns_in *in)
{
	uint64_t distance = columns_in_bounded(in, ALLOCATIONS_FORMER, heap->nr_allocations + 1);
	uint32_t former;

	if (distance < 2)
		return distance ? FORMER_UNKNOWN : 0;
	former = (uint32_t)(heap->nr_allocations + 1 - distance);
	in->failed |= !heap->allocations[former].is_moved;
	return former + 1;
}

static bool take_new(struct reader *reader, struct columns_in *in)
{
	struct profile *profile = reader->profile;
	const struct profile_heap *heap = &profile->heap;
	struct profile_allocation row = {0};

	row.time_ns = reader->before.time_ns +
		      SAMPLE_TIME_GRAIN_NS * columns_in_bounded(in, ALLOCATIONS_TIME, GRAINS_MAX);
	read_freeing(profile, in, &row);
	row.size_bytes = columns_in_uint(in, ALLOCATIONS_SIZE);
	row.mean_bytes = columns_in_delta(in, ALLOCATIONS_MEAN, reader->before.mean_bytes);
	row.thread.v = columns_in_index(in, ALLOCATIONS_THREAD, profile->nr_threads);
	row.stack.v = columns_in_index(in, ALLOCATIONS_STACK, stack_trie_nr(profile->stacks));
	row.kind = (uint8_t)columns_in_bounded(in, ALLOCATIONS_KIND, ALLOCATION_KIND_COUNT - 1);
	row.end = (uint8_t)columns_in_bounded(in, ALLOCATIONS_END, STACK_END_COUNT - 1);
	row.former = read_former(heap, in);
	row.is_moved = columns_in_bounded(in, ALLOCATIONS_MOVED, 1);
	row.nr_more = (uint32_t)columns_in_bounded(in, ALLOCATIONS_MORE, UINT32_MAX);
	row.life_ns = columns_in_bounded(in, ALLOCATIONS_LIVED, TIME_MAX_NS);
	row.is_earlier = columns_in_bounded(in, ALLOCATIONS_EARLIER, 1);
	if (row.mean_bytes && (row.nr_more || row.life_ns))
		return false;
	if (in->failed || (row.is_moved && !row.freed_ns) ||
	    !heap_sums_add(&reader->heap_sums, &row))
		return false;
	profile_add_allocation(profile, &row);
	reader->before = row;
	return true;
}

/* Some blocks of an earlier row, which has more of them. */
static bool take_part(struct reader *reader, struct columns_in *in, uint64_t distance)
{
	struct profile *profile = reader->profile;
	const struct profile_heap *heap = &profile->heap;
	struct profile_allocation row = {0}, *part;
	const struct profile_allocation *of;
	uint32_t index;

	if (distance > heap->nr_allocations ||
	    heap->nr_allocations - distance < heap->discard.nr_allocations)
		return false;
	of = &heap->allocations[heap->nr_allocations - distance];
	row.time_ns = of->time_ns;
	read_freeing(profile, in, &row);
	row.size_bytes = columns_in_bounded(in, ALLOCATIONS_SIZE, of->size_bytes);
	row.nr_more = (uint32_t)columns_in_bounded(in, ALLOCATIONS_MORE, UINT32_MAX);
	row.life_ns = columns_in_bounded(in, ALLOCATIONS_LIVED, TIME_MAX_NS);
	if (in->failed || row.nr_more >= of->nr_more || (row.is_moved && !row.freed_ns) ||
	    row.freed_ns > TIME_MAX_NS)
		return false;
	index = profile_split_allocation(profile, (uint32_t)(of - heap->allocations),
					 row.nr_more + 1, row.size_bytes);
	part = &profile->heap.allocations[index];
	part->freed_ns = row.freed_ns;
	part->freed_by = row.freed_by;
	part->is_moved = row.is_moved;
	part->freed_stack = row.freed_stack;
	part->freed_end = row.freed_end;
	part->life_ns = row.life_ns;
	return true;
}

static bool take_next(struct reader *reader, struct columns_in *in)
{
	uint64_t distance = columns_in_uint(in, ALLOCATIONS_PART);

	if (reader->profile->heap.nr_allocations >= TABLE_ROWS_MAX)
		return false;
	return distance ? take_part(reader, in, distance) : take_new(reader, in);
}

bool reader_take_allocation(struct reader *reader, struct columns_in *in)
{
	size_t nr = reader->profile->heap.nr_allocations;
	uint64_t row = columns_in_delta(in, ALLOCATIONS_ROW, reader->next_allocation);

	if (row > nr ||
	    !(row == nr ? take_next(reader, in) : take_freed(reader, in, (uint32_t)row)))
		return false;
	reader->next_allocation = row + 1;
	return true;
}

bool reader_take_moment(struct reader *reader, struct columns_in *in)
{
	struct profile *profile = reader->profile;
	struct moment_coder *coder = &reader->moments;
	uint32_t process = columns_in_index(in, MOMENTS_PROCESS, profile->nr_processes);
	struct profile_heap_moment now = {
		.time_ns = coder->previous_ns + columns_in_bounded(in, MOMENTS_TIME, TIME_MAX_NS)};
	struct profile_heap_moment *before;

	if (in->failed || profile->heap.nr_moments >= TABLE_ROWS_MAX)
		return false;
	before = moment_coder_last(coder, process);
	if (!schema_take(RECORD_MOMENTS, in, profile, &now, before) ||
	    !heap_sums_replace(&reader->heap_sums, before, &now))
		return false;
	coder->previous_ns = now.time_ns;
	*before = now;
	profile_add_heap_moment(profile, &now);
	return true;
}

bool reader_take_search(struct reader *reader, struct columns_in *in)
{
	struct profile *profile = reader->profile;
	struct profile_search row = {0};

	if (!schema_take(RECORD_SEARCHES, in, profile, &row, NULL) ||
	    profile->heap.nr_searches >= TABLE_ROWS_MAX ||
	    !heap_sums_search(&reader->heap_sums, &row))
		return false;
	profile_add_search(profile, &row);
	return true;
}

bool reader_take_searched(struct reader *reader, struct columns_in *in)
{
	struct profile *profile = reader->profile;
	uint64_t row = columns_in_delta(in, SEARCHED_ROW, reader->next_searched);
	uint64_t state = columns_in_bounded(in, SEARCHED_STATE, ALLOCATION_SEARCH_COUNT - 1);

	if (in->failed || state == ALLOCATION_NOT_SEARCHED || row >= profile->heap.nr_allocations ||
	    profile->heap.allocations[row].search)
		return false;
	profile_search_allocation(profile, (uint32_t)row, (enum allocation_search)state);
	reader->next_searched = row + 1;
	return true;
}

bool reader_take_verdict(struct reader *reader, struct columns_in *in)
{
	struct profile_heap *heap = &reader->profile->heap;
	uint64_t allocation = columns_in_delta(in, VERDICTS_ROW, reader->next_verdict);
	struct profile_verdict row = {.allocation = (uint32_t)allocation};

	if (!schema_take(RECORD_VERDICTS, in, reader->profile, &row, NULL) ||
	    row.verdict == ALLOCATION_NOT_SEARCHED || allocation >= heap->nr_allocations ||
	    heap->nr_verdicts >= TABLE_ROWS_MAX)
		return false;
	profile_add_verdict(reader->profile, &row);
	reader->next_verdict = allocation + 1;
	return true;
}

/* A row must not be discarded without its parts. */
static bool cuts_parts(const struct profile_heap *heap, size_t nr)
{
	for (size_t i = 0; i < heap->nr_parts; i++) {
		if (heap->parts[i].row >= nr && heap->parts[i].of < nr)
			return true;
	}
	return false;
}

bool reader_take_discard(struct reader *reader, struct columns_in *in)
{
	struct profile_heap *heap = &reader->profile->heap;
	struct heap_discard discard = {0};

	if (!schema_take(RECORD_DISCARDS, in, reader->profile, &discard, NULL) ||
	    discard.time_ns < heap->discard.time_ns ||
	    discard.nr_allocations < heap->discard.nr_allocations ||
	    discard.nr_allocations > heap->nr_allocations ||
	    discard.nr_moments < heap->discard.nr_moments ||
	    discard.nr_moments > heap->nr_moments || cuts_parts(heap, discard.nr_allocations))
		return false;
	heap->discard = discard;
	return true;
}

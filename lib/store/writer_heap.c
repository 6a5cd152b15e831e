// SPDX-License-Identifier: GPL-2.0-or-later
/* Encodes the records of memory. */
#include <stdlib.h>

#include "base/alloc.h"
#include "store/writer_priv.h"

void new_allocations_init(struct new_allocations *rows, const struct profile_heap *heap,
			  size_t first)
{
	*rows = (struct new_allocations){.first = first,
					 .rows = heap->allocations ? heap->allocations + first
								   : NULL,
					 .next_part = heap->nr_parts};
	while (rows->next_part && heap->parts[rows->next_part - 1].row >= first)
		rows->next_part--;
	if (rows->next_part == heap->nr_parts)
		return;
	rows->whole = xmemdup(rows->rows, (heap->nr_allocations - first) * sizeof(*rows->whole));
	rows->rows = rows->whole;
	for (size_t i = heap->nr_parts; i-- > rows->next_part;) {
		const struct profile_allocation *part = &rows->whole[heap->parts[i].row - first];
		struct profile_allocation *of;

		if (heap->parts[i].of < first)
			continue;
		of = &rows->whole[heap->parts[i].of - first];
		of->nr_more += part->nr_more + 1;
		of->size_bytes += part->size_bytes;
	}
}

const struct heap_part *new_allocations_part(struct new_allocations *rows,
					     const struct profile_heap *heap, uint32_t index)
{
	if (rows->next_part == heap->nr_parts || heap->parts[rows->next_part].row != index)
		return NULL;
	return &heap->parts[rows->next_part++];
}

void new_allocations_release(struct new_allocations *rows)
{
	free(rows->whole);
}

/* 0: not freed. */
static uint64_t life_of(const struct profile_allocation *row)
{
	return row->freed_ns ? (row->freed_ns - row->time_ns) / SAMPLE_TIME_GRAIN_NS + 1 : 0;
}

#define PUT_BY_ROW                                                                                 \
	(1U << ALLOCATIONS_ROW | 1U << ALLOCATIONS_LIFE | 1U << ALLOCATIONS_FREED_BY |             \
	 1U << ALLOCATIONS_MOVED | 1U << ALLOCATIONS_FREED_STACK | 1U << ALLOCATIONS_FREED_END |   \
	 1U << ALLOCATIONS_LIVED)

static void put_nothing_else(struct columns_out *out, uint32_t put)
{
	for (unsigned int column = 0; column < schemas[RECORD_ALLOCATIONS].nr; column++) {
		if (!(put & 1U << column))
			columns_out_uint(out, column, 0);
	}
}

static void put_row(struct store_writer *writer, uint32_t row, const struct profile_allocation *now)
{
	struct columns_out *out = &writer->columns;

	columns_out_delta(out, ALLOCATIONS_ROW, row, writer->heap.next_allocation);
	columns_out_uint(out, ALLOCATIONS_LIFE, life_of(now));
	/* 0 means none: THREAD_NONE + 1 wraps to it. */
	columns_out_uint(out, ALLOCATIONS_FREED_BY, (uint32_t)(now->freed_by.v + 1));
	columns_out_uint(out, ALLOCATIONS_MOVED, now->is_moved);
	columns_out_uint(out, ALLOCATIONS_FREED_STACK, now->freed_stack.v);
	columns_out_uint(out, ALLOCATIONS_FREED_END, now->freed_end);
	columns_out_uint(out, ALLOCATIONS_LIVED, now->life_ns);
	writer->heap.next_allocation = row + 1;
	out->nr_rows++;
}

/* 0: none; 1: an unknown one; else one more than the distance to the former row. */
static uint64_t former_of(uint32_t row, const struct profile_allocation *now)
{
	if (now->former == FORMER_UNKNOWN)
		return 1;
	return now->former ? (uint64_t)row - now->former + 2 : 0;
}

static void put_new(struct store_writer *writer, uint32_t row, const struct profile_allocation *now,
		    const struct profile_allocation *before)
{
	struct columns_out *out = &writer->columns;

	put_row(writer, row, now);
	columns_out_uint(out, ALLOCATIONS_TIME,
			 now->time_ns / SAMPLE_TIME_GRAIN_NS -
				 before->time_ns / SAMPLE_TIME_GRAIN_NS);
	columns_out_uint(out, ALLOCATIONS_SIZE, now->size_bytes);
	columns_out_delta(out, ALLOCATIONS_MEAN, now->mean_bytes, before->mean_bytes);
	columns_out_uint(out, ALLOCATIONS_THREAD, now->thread.v);
	columns_out_uint(out, ALLOCATIONS_STACK, now->stack.v);
	columns_out_uint(out, ALLOCATIONS_KIND, now->kind);
	columns_out_uint(out, ALLOCATIONS_END, now->end);
	columns_out_uint(out, ALLOCATIONS_FORMER, former_of(row, now));
	columns_out_uint(out, ALLOCATIONS_MORE, now->nr_more);
	columns_out_uint(out, ALLOCATIONS_PART, 0);
	columns_out_uint(out, ALLOCATIONS_EARLIER, now->is_earlier);
}

/* Columns that equal those of the row that it is a part of are not written again. */
static void put_part(struct store_writer *writer, const struct heap_part *part,
		     const struct profile_allocation *now)
{
	static const uint32_t put = PUT_BY_ROW | 1U << ALLOCATIONS_SIZE | 1U << ALLOCATIONS_MORE |
				    1U << ALLOCATIONS_PART;
	struct columns_out *out = &writer->columns;

	put_row(writer, part->row, now);
	columns_out_uint(out, ALLOCATIONS_SIZE, now->size_bytes);
	columns_out_uint(out, ALLOCATIONS_MORE, now->nr_more);
	columns_out_uint(out, ALLOCATIONS_PART, part->row - part->of);
	put_nothing_else(out, put);
}

static void put_freed(struct store_writer *writer, uint32_t row,
		      const struct profile_allocation *now)
{
	put_row(writer, row, now);
	put_nothing_else(&writer->columns, PUT_BY_ROW);
}

/* Rows that are alive according to the file. In a record of their own most columns take no room. */
static int write_freed(struct store_writer *writer, const struct profile_heap *heap,
		       struct err *err)
{
	struct written_heap *written = &writer->heap;
	int status = 0;

	for (; status == 0 && written->nr_freed < heap->nr_freed; written->nr_freed++) {
		uint32_t row = heap->freed[written->nr_freed];

		if (row >= writer->nr[RECORD_ALLOCATIONS])
			continue;
		put_freed(writer, row, &heap->allocations[row]);
		status = writer_emit_if_full(writer, RECORD_ALLOCATIONS, err);
	}
	return status ? status : writer_emit(writer, RECORD_ALLOCATIONS, err);
}

int writer_write_allocations(struct store_writer *writer, const struct profile *profile,
			     struct err *err)
{
	const struct profile_heap *heap = &profile->heap;
	struct written_heap *written = &writer->heap;
	struct new_allocations new;
	int status;

	writer_begin(writer, RECORD_ALLOCATIONS);
	status = write_freed(writer, heap, err);
	new_allocations_init(&new, heap, writer->nr[RECORD_ALLOCATIONS]);
	for (; status == 0 && writer->nr[RECORD_ALLOCATIONS] < heap->nr_allocations;
	     writer->nr[RECORD_ALLOCATIONS]++) {
		uint32_t index = (uint32_t)writer->nr[RECORD_ALLOCATIONS];
		const struct profile_allocation *row = &new.rows[index - new.first];
		const struct heap_part *part = new_allocations_part(&new, heap, index);

		if (part) {
			put_part(writer, part, row);
		} else {
			put_new(writer, index, row, &written->before);
			written->before = *row;
		}
		status = writer_emit_if_full(writer, RECORD_ALLOCATIONS, err);
	}
	new_allocations_release(&new);
	return status ? status : writer_emit(writer, RECORD_ALLOCATIONS, err);
}

static void put_moment(struct store_writer *writer, const struct profile_heap_moment *now)
{
	struct columns_out *out = &writer->columns;
	struct moment_coder *coder = &writer->heap.coder;
	struct profile_heap_moment *before = moment_coder_last(coder, now->process);

	columns_out_uint(out, MOMENTS_TIME, now->time_ns - coder->previous_ns);
	schema_put(RECORD_MOMENTS, out, now, before);
	coder->previous_ns = now->time_ns;
	*before = *now;
	out->nr_rows++;
}

int writer_write_moments(struct store_writer *writer, const struct profile *profile,
			 struct err *err)
{
	const struct profile_heap *heap = &profile->heap;
	int status = 0;

	writer_begin(writer, RECORD_MOMENTS);
	for (; status == 0 && writer->nr[RECORD_MOMENTS] < heap->nr_moments;
	     writer->nr[RECORD_MOMENTS]++) {
		put_moment(writer, &heap->moments[writer->nr[RECORD_MOMENTS]]);
		status = writer_emit_if_full(writer, RECORD_MOMENTS, err);
	}
	return status ? status : writer_emit(writer, RECORD_MOMENTS, err);
}

int writer_write_searched(struct store_writer *writer, const struct profile *profile,
			  struct err *err)
{
	const struct profile_heap *heap = &profile->heap;
	struct written_heap *written = &writer->heap;
	struct columns_out *out = &writer->columns;
	int status = 0;

	writer_begin(writer, RECORD_SEARCHED);
	for (; status == 0 && written->nr_searched < heap->nr_searched; written->nr_searched++) {
		uint32_t row = heap->searched[written->nr_searched];

		columns_out_delta(out, SEARCHED_ROW, row, written->next_searched);
		columns_out_uint(out, SEARCHED_STATE, heap->allocations[row].search);
		written->next_searched = row + 1;
		out->nr_rows++;
		status = writer_emit_if_full(writer, RECORD_SEARCHED, err);
	}
	return status ? status : writer_emit(writer, RECORD_SEARCHED, err);
}

int writer_write_verdicts(struct store_writer *writer, const struct profile *profile,
			  struct err *err)
{
	const struct profile_heap *heap = &profile->heap;
	struct written_heap *written = &writer->heap;
	struct columns_out *out = &writer->columns;
	int status = 0;

	writer_begin(writer, RECORD_VERDICTS);
	for (; status == 0 && writer->nr[RECORD_VERDICTS] < heap->nr_verdicts;
	     writer->nr[RECORD_VERDICTS]++) {
		const struct profile_verdict *row = &heap->verdicts[writer->nr[RECORD_VERDICTS]];

		schema_put(RECORD_VERDICTS, out, row, NULL);
		columns_out_delta(out, VERDICTS_ROW, row->allocation, written->next_verdict);
		written->next_verdict = row->allocation + 1;
		out->nr_rows++;
		status = writer_emit_if_full(writer, RECORD_VERDICTS, err);
	}
	return status ? status : writer_emit(writer, RECORD_VERDICTS, err);
}

/* Follows the rows that it is about. */
int writer_write_discards(struct store_writer *writer, const struct profile *profile,
			  struct err *err)
{
	const struct heap_discard *discard = &profile->heap.discard;
	struct columns_out *out = &writer->columns;

	if (discard->time_ns == writer->heap.discarded_ns)
		return 0;
	writer_begin(writer, RECORD_DISCARDS);
	schema_put(RECORD_DISCARDS, out, discard, NULL);
	out->nr_rows++;
	writer->heap.discarded_ns = discard->time_ns;
	return writer_emit(writer, RECORD_DISCARDS, err);
}

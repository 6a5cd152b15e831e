/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a writer, and its encoding of tables. */
#ifndef PROFC_STORE_WRITER_PRIV_H
#define PROFC_STORE_WRITER_PRIV_H

#include "store/bounds_priv.h"
#include "store/frames_priv.h"
#include "store/schema_coder_priv.h"

/* The members of a row of counts that may change. */
struct written_count {
	uint64_t calls, to_ns;
};

/* As above, for all rows: most functions are never called. */
struct written_counts {
	/* By row: to_ns; or, with WRITTEN_CALLED, the index of more. */
	uint64_t *rows;
	struct written_count *called;
	size_t cap_rows, nr_called, cap_called;
};

#define WRITTEN_CALLED (UINT64_C(1) << 63)

/* Copies of the rows that may change, as the file has them. Owned. */
struct written_rows {
	struct profile_process *processes;
	struct profile_thread *threads;
	struct profile_counter *counters;
	struct written_counts counts;
	size_t cap_processes, cap_threads, cap_counters;
	struct str_id *command;
	size_t nr_command;
	struct profile_meta meta; /* without its command */
	bool wrote_meta;
};

/* The parts of the memory tables that the file has. */
struct written_heap {
	size_t nr_freed, nr_searched;
	uint32_t next_allocation; /* the row after the last one written */
	/* The last of allocations that is no part of another. */
	struct profile_allocation before;
	uint32_t next_searched; /* the same for searched rows */
	uint32_t next_verdict;	/* at marks */
	struct moment_coder coder;
	struct heap_sums sums;
	size_t nr_summed_allocations, nr_summed_moments, nr_summed_searches;
	struct moment_coder summed; /* the moments that the sums hold */
	uint64_t discarded_ns;
};

/*
 * Rows of allocations from `first` on, as readers have them before parts are split off: they split
 * them off again.
 */
struct new_allocations {
	size_t first;
	const struct profile_allocation *rows; /* the profile's, or `whole` */
	struct profile_allocation *whole;      /* owned; or NULL */
	size_t next_part;
};

void new_allocations_init(struct new_allocations *rows, const struct profile_heap *heap,
			  size_t first);
void new_allocations_release(struct new_allocations *rows);
/* The row that the one with this index is a part of; NULL: none. Ask in the order of rows. */
const struct heap_part *new_allocations_part(struct new_allocations *rows,
					     const struct profile_heap *heap, uint32_t index);

/* The parts of the tables that the file has so far. */
struct store_writer {
	struct frames_out frames;
	struct columns_out columns; /* of the record being made */
	struct sample_coder coder;
	struct sample_sums sums;
	uint64_t nr[RECORD_TYPE_COUNT]; /* rows, by table */
	size_t nr_updated_waits;
	uint64_t nr_advanced; /* the sum of all advances */
	struct frame last_frame;
	uint32_t last_location_frame;
	uint32_t next_count; /* the row after the last one written */
	struct span_sums spans;
	uint64_t nr_counts_again; /* sum of the rows written more than once */
	struct written_rows written;
	struct written_heap heap;
	bool ending; /* the last flush has begun: nothing can wait for a later one */
	bool failed; /* after a failed write nothing further could be read */
};

/* Each writes one table: the rows that the file lacks, or that have changed. */
typedef int writer_step(struct store_writer *writer, const struct profile *profile,
			struct err *err);

writer_step writer_write_strings, writer_write_meta_and_command, writer_write_modules,
	writer_write_processes, writer_write_threads, writer_write_frames, writer_write_stacks,
	writer_write_waits, writer_write_samples, writer_write_advances, writer_write_counters,
	writer_write_counts, writer_write_allocations, writer_write_moments, writer_write_searched,
	writer_write_verdicts, writer_write_discards, writer_write_locations;

/* Not a table, but the first step: is there anything that readers would refuse? ERR_LIMIT. */
writer_step writer_check_bounds;

/* Begin to gather rows of a table. */
void writer_begin(struct store_writer *writer, enum record_type type);
/* Write the gathered columns as a record, if they have rows, and clear them. */
int writer_emit(struct store_writer *writer, enum record_type type, struct err *err);
/* As above if the record has the largest number of rows. */
int writer_emit_if_full(struct store_writer *writer, enum record_type type, struct err *err);

/* Write the rows of a table without a coder of its own that the file lacks. */
int writer_write_rows(struct store_writer *writer, const struct profile *profile,
		      enum record_type type, struct err *err);

#endif

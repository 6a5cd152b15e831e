/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a reader, and its decoding of records. */
#ifndef PROFC_STORE_READER_PRIV_H
#define PROFC_STORE_READER_PRIV_H

#include "store/bounds_priv.h"
#include "store/frames_priv.h"

/* A profile being read. */
struct reader {
	struct frames_in frames;
	struct columns_in columns; /* of the record being read */
	struct profile *profile;
	struct sample_coder coder;
	struct frame last_frame;
	struct sample_sums sums;
	uint64_t nr_calls;    /* of all counts */
	uint64_t nr_advanced; /* the sum of all advances */
	struct span_sums spans;
	uint64_t nr_rows; /* of all records */
	uint32_t last_location_frame;
	uint64_t next_count;	  /* the row of counts after the last one read */
	uint64_t next_allocation; /* the row of allocations after the last one read */
	/* The last of allocations that is no part of another. */
	struct profile_allocation before;
	uint64_t next_searched; /* the same for searched rows */
	uint64_t next_verdict;	/* at marks */
	struct heap_sums heap_sums;
	struct moment_coder moments;
	size_t nr_module_symbols; /* rows read */
	bool symbols_begun;	  /* from then on frames and modules are complete */
	bool names_only;	  /* read only tables of things with names */
	bool ended;		  /* the end mark was read, and its counts are right */
};

/*
 * Take in the rows of one record. False when a number is damaged or out of its bounds; rows read
 * before that stay.
 */
bool reader_take_record(struct reader *reader, enum record_type type, const uint8_t *payload,
			size_t nr_bytes);

/* Reads one row; false if it is invalid. Numbers are checked before they are used. */
typedef bool reader_take_row(struct reader *reader, struct columns_in *in);

reader_take_row reader_take_allocation, reader_take_moment, reader_take_search,
	reader_take_searched, reader_take_verdict, reader_take_discard, reader_take_wait;

#endif

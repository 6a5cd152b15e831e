/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SNAPSHOT_THREAD_CONTEXT_H
#define PROFC_SNAPSHOT_THREAD_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "snapshot/context_place.h"

struct snapshot;
struct wanted_memory;

/*
 * The record in which a thread says what it works on: the thread context of OpenTelemetry
 * (OTEP 4947). A thread-local variable has its address.
 */

enum context_found {
	CONTEXT_FOUND,
	CONTEXT_MISSING,  /* a range that is wanted is not in the snapshot */
	CONTEXT_ABSENT,	  /* the thread has no record at this moment */
	CONTEXT_TOO_LONG, /* the record is longer than CONTEXT_BYTES_MAX */
	CONTEXT_WRONG,	  /* its address is not that of a record */
};

/* The header of a record; the OTEP recommends 640 bytes at most for all of it. */
#define CONTEXT_HEADER_BYTES 28
#define CONTEXT_BYTES_MAX    4096

struct context_record {
	uint64_t address;
	uint32_t nr_bytes; /* with the header */
};

/*
 * Follow the addresses from the thread's pointer to its record, all of which were copied in the
 * stop. Each range that leads there is added to `wanted`, up to the first that is missing: with
 * these a next snapshot has the record at once, if it is in the same place. On CONTEXT_FOUND all of
 * the record is in the snapshot.
 */
enum context_found context_find(const struct context_place *place, const struct snapshot *snapshot,
				struct wanted_memory *wanted, struct context_record *record);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the blob writes a record: the layout is in heap_shared.h. */
#ifndef PROFC_HEAP_HEAP_RECORD_BLOB_H
#define PROFC_HEAP_HEAP_RECORD_BLOB_H

#include "heap/heap_blob_priv.h"
#include "heap/heap_script_blob.h"

/* A record that is to be written. */
struct record {
	const struct request *request;
	uint32_t kind; /* with flags */
	uint64_t pointer, signature, time, nr_stack_bytes;
	const struct heap_pieces *pieces; /* or NULL */
};

static inline uint64_t caller_bytes_of(const struct record *record)
{
	return record->nr_stack_bytes + (record->pieces ? record->pieces->nr_bytes : 0);
}

/*
 * The flags of a record that follow from the call. The record of a free has a size if realloc()
 * moves the block, or if it is of a range.
 */
static inline uint32_t flags_of(const struct request *request, enum heap_record_kind kind)
{
	uint32_t flags = 0;

	if (kind == HEAP_RECORD_ALLOCATION || request->size)
		flags |= HEAP_HAS_SIZE;
	if (kind == HEAP_RECORD_ALLOCATION && request->old)
		flags |= HEAP_HAS_OLD;
	return flags;
}

/* heap_ring_blob.c. The caller with its stack, which must be readable. */
void heap_write_caller(const struct record *record, uint64_t *to)
	__attribute__((visibility("hidden")));

/* Into its reserved place. Inlined, as most callers have constant flags. */
static inline __attribute__((always_inline)) void write_record(const struct record *record,
							       uint64_t *words, uint64_t position)
{
	const struct request *request = record->request;
	uint64_t *next = &words[2];
	uint64_t thread = 0;

	words[1] = record->pointer;
	if (record->kind & HEAP_HAS_SIZE)
		*next++ = request->size;
	if (record->kind & HEAP_HAS_SIGNATURE)
		*next++ = record->signature;
	if (record->kind & HEAP_HAS_OLD)
		*next++ = request->was_sampled ? request->old : 0;
	if (record->kind & HEAP_HAS_TIME)
		*next++ = record->time;
	if (record->kind & HEAP_HAS_NAME)
		*next++ = (uint64_t)heap_own_tid() << 32 | (uint32_t)own_pid();
	else
		thread = request->thread->name;
	if (record->kind & HEAP_HAS_CALLER)
		heap_write_caller(record, next);
	commit(words, position, record->kind, request->hook->form.function, thread);
}

#endif

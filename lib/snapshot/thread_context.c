// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the record of a thread's context in a snapshot. The bytes are hostile. */
#include "snapshot/thread_context.h"

#include <stdbool.h>
#include <string.h>

#include "base/address.h"
#include "base/minmax.h"
#include "snapshot/snapshot.h"
#include "snapshot/wanted.h"

/* False: it was not copied. */
static bool read_bytes(const struct snapshot *snapshot, uint64_t address, void *out,
		       size_t nr_bytes, struct wanted_memory *wanted)
{
	wanted_memory_add(wanted, address, nr_bytes);
	return snapshot_read_any(snapshot, address, out, nr_bytes);
}

/* An entry that no thread has used so far: TLS_DTV_UNALLOCATED of glibc. */
#define UNALLOCATED UINT64_MAX

/*
 * Entries of glibc's vector have two words. The first one has its generation; the one before that
 * has the number of entries.
 */
#define ENTRY_BYTES (2 * sizeof(uint64_t))

static enum context_found find_in_vector(const struct context_place *place,
					 const struct snapshot *snapshot,
					 struct wanted_memory *wanted, uint64_t *address)
{
	struct {
		uint64_t nr, unused, generation;
	} head;
	uint64_t vector, block, entry;

	if (!read_bytes(snapshot, snapshot->data_pointer + (uint64_t)place->vector_at, &vector,
			sizeof(vector), wanted))
		return CONTEXT_MISSING;
	entry = vector + place->module * ENTRY_BYTES;
	wanted_memory_add(wanted, entry, sizeof(block));
	if (!read_bytes(snapshot, vector - ENTRY_BYTES, &head, sizeof(head), wanted))
		return CONTEXT_MISSING;
	if (place->module > head.nr || head.generation < place->generation)
		return CONTEXT_ABSENT;
	if (!read_bytes(snapshot, entry, &block, sizeof(block), wanted))
		return CONTEXT_MISSING;
	*address = block + (uint64_t)place->offset;
	return block == UNALLOCATED || !block ? CONTEXT_ABSENT : CONTEXT_FOUND;
}

static enum context_found find_variable(const struct context_place *place,
					const struct snapshot *snapshot,
					struct wanted_memory *wanted, uint64_t *address)
{
	switch (place->access) {
	case CONTEXT_ACCESS_NONE:
		return CONTEXT_ABSENT;
	case CONTEXT_ACCESS_STATIC:
		*address = snapshot->data_pointer + (uint64_t)place->offset;
		return CONTEXT_FOUND;
	case CONTEXT_ACCESS_DYNAMIC:
		return find_in_vector(place, snapshot, wanted, address);
	}
	return CONTEXT_ABSENT;
}

/* Where the size of the attributes is: 16 bit, native. */
#define SIZE_AT 26
/* Most records are no longer: then the second copy has all of it, and no third one is needed. */
#define USUAL_BYTES 128

static enum context_found find_record(const struct snapshot *snapshot, struct wanted_memory *wanted,
				      struct context_record *record)
{
	uint8_t header[CONTEXT_HEADER_BYTES];
	uint64_t to_page_end = page_bytes() - (record->address & (page_bytes() - 1));
	uint16_t nr_attribute_bytes;

	/* The page after it need not be mapped. */
	wanted_memory_add(wanted, record->address,
			  max_u64(CONTEXT_HEADER_BYTES, min_u64(USUAL_BYTES, to_page_end)));
	if (!snapshot_read_any(snapshot, record->address, header, sizeof(header)))
		return CONTEXT_MISSING;
	memcpy(&nr_attribute_bytes, header + SIZE_AT, sizeof(nr_attribute_bytes));
	record->nr_bytes = CONTEXT_HEADER_BYTES + (uint32_t)nr_attribute_bytes;
	if (record->nr_bytes > CONTEXT_BYTES_MAX)
		return CONTEXT_TOO_LONG;
	wanted_memory_add(wanted, record->address, record->nr_bytes);
	return snapshot_has_any(snapshot, record->address, record->nr_bytes) ? CONTEXT_FOUND
									     : CONTEXT_MISSING;
}

enum context_found context_find(const struct context_place *place, const struct snapshot *snapshot,
				struct wanted_memory *wanted, struct context_record *record)
{
	uint64_t variable = 0, pointer;
	enum context_found found;

	if (!snapshot->data_pointer)
		return CONTEXT_ABSENT;
	found = find_variable(place, snapshot, wanted, &variable);
	if (found != CONTEXT_FOUND)
		return found;
	if (!read_bytes(snapshot, variable, &pointer, sizeof(pointer), wanted))
		return CONTEXT_MISSING;
	record->address = address_of_pointer(pointer);
	if (!pointer)
		return CONTEXT_ABSENT;
	if (record->address % 2 || record->address + CONTEXT_BYTES_MAX < record->address)
		return CONTEXT_WRONG;
	return find_record(snapshot, wanted, record);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/heap_record.h"

#include <string.h>

#include "heap/heap_ring.h"
#include "snapshot/snapshot.h"

enum allocation_kind heap_allocation_kind(enum heap_function function)
{
	switch (function) {
	case HEAP_CALLOC:
		return ALLOCATION_CALLOC;
	case HEAP_REALLOC:
	case HEAP_REALLOCARRAY:
		return ALLOCATION_REALLOC;
	case HEAP_MEMALIGN:
	case HEAP_POSIX_MEMALIGN:
	case HEAP_VALLOC:
		return ALLOCATION_ALIGNED;
	case HEAP_NEW:
	case HEAP_NEW_ALIGNED:
	case HEAP_NEW_NOTHROW_ALIGNED:
		return ALLOCATION_NEW;
	case HEAP_POOL:
		return ALLOCATION_POOL;
	case HEAP_MAP:
	case HEAP_UNMAP:
	case HEAP_REMAP:
		return ALLOCATION_MAP;
	case HEAP_MALLOC:
	case HEAP_FREE:
	case HEAP_POOL_FREE:
	case HEAP_EXIT:
	case HEAP_FUNCTION_COUNT:
		break;
	}
	return ALLOCATION_MALLOC;
}

bool heap_record_is_move(const struct heap_record *record)
{
	/* With a size of 0, realloc() is free(). */
	return (record->function == HEAP_REALLOC || record->function == HEAP_REALLOCARRAY ||
		record->function == HEAP_POOL || record->function == HEAP_REMAP) &&
	       record->size;
}

/*
 * The piece at *at, which goes on to the next one. False: there are no more. The target may write
 * there meanwhile, so each word is read once.
 */
static bool next_piece(const struct heap_record *record, uint32_t *at, struct heap_piece *piece)
{
	uint32_t left = record->nr_script_bytes - *at;

	if (left < sizeof(*piece))
		return false;
	memcpy(piece, record->script + *at, sizeof(*piece));
	left -= (uint32_t)sizeof(*piece);
	*at += (uint32_t)sizeof(*piece);
	if (piece->nr_bytes > left || piece->start > UINT64_MAX - piece->nr_bytes)
		return false;
	*at += (uint32_t)piece->nr_bytes;
	return true;
}

static void add_pieces(const struct heap_record *record, struct snapshot *snapshot)
{
	struct heap_piece piece;
	uint32_t at = 0;

	while (next_piece(record, &at, &piece)) {
		uint8_t *bytes = snapshot_add_wanted(snapshot, piece.start, piece.nr_bytes);

		if (bytes)
			memcpy(bytes, record->script + at - piece.nr_bytes, piece.nr_bytes);
	}
}

uint64_t heap_record_script_state(const struct heap_record *record)
{
	struct heap_piece piece;
	uint32_t at = 0;

	return next_piece(record, &at, &piece) ? piece.start : 0;
}

void heap_record_fill_snapshot(const struct heap_record *record, struct snapshot *snapshot)
{
	uint8_t *bytes;

	snapshot_clear(snapshot);
	snapshot->arch = arch_native();
	snapshot->state = THREAD_STATE_RUNNING;
	snapshot->tid = record->tid;
	snapshot->syscall_nr = SNAPSHOT_NO_SYSCALL;
	snapshot->time_ns = record->time_ns;
	snapshot->regs = record->regs;
	snapshot->regs.value[arch_regs(snapshot->arch)->pc]--;
	bytes = snapshot_add_region(snapshot, record->stack_address, record->nr_stack_bytes);
	if (bytes)
		memcpy(bytes, record->stack, record->nr_stack_bytes);
	add_pieces(record, snapshot);
}

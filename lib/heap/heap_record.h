/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A record of the ring in the terms of snapshots and profiles. */
#ifndef PROFC_HEAP_HEAP_RECORD_H
#define PROFC_HEAP_HEAP_RECORD_H

#include <stdbool.h>

#include "heap/heap_shared.h"
#include "profile/heap.h"

struct heap_record;
struct snapshot;

enum allocation_kind heap_allocation_kind(enum heap_function function);
/* For the record of a free: does realloc() move the contents to another block? */
bool heap_record_is_move(const struct heap_record *record);
/*
 * Fills in the caller of the allocator, at its call: the pc is one less than the return address, as
 * in all frames but the innermost. Sets neither the process' id nor facts about its stacks.
 */
void heap_record_fill_snapshot(const struct heap_record *record, struct snapshot *snapshot);
/* The address of an interpreter's state of the thread; 0: the record has none. */
uint64_t heap_record_script_state(const struct heap_record *record);

#endif

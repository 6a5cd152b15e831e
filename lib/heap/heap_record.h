/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A record of the ring in the terms of snapshots and profiles. */
#ifndef PROFC_HEAP_HEAP_RECORD_H
#define PROFC_HEAP_HEAP_RECORD_H

#include <stdbool.h>

#include "profile/heap.h"

struct heap_record;
struct snapshot;

enum allocation_kind heap_record_allocation_kind(const struct heap_record *record);
/* Of one that is freed: does a realloc() that frees it go on with what it holds? */
bool heap_record_is_move(const struct heap_record *record);
/*
 * The caller of the allocator, at its call: a return address stands for the call before it, as in
 * all frames but the innermost. The process' id, and what was learned of its stacks, is not known.
 */
void heap_record_fill_snapshot(const struct heap_record *record, struct snapshot *snapshot);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_HEAP_DISCARD_H
#define PROFC_PROFILE_HEAP_DISCARD_H

#include <stdint.h>

struct profile;

/*
 * Discard the records of memory up to a moment. During a recording the rows remain, since others
 * refer to them by number, and profile.heap.discard notes the rows that heap_discard_apply()
 * removes.
 */
void heap_discard_note(struct profile *profile, uint64_t time_ns);
/*
 * Remove the discarded blocks and moments, and subtract the amounts that processes had allocated by
 * then. The memory of each process that lived on stays as its first moment. Call this when no more
 * rows will be added: row numbers change.
 */
void heap_discard_apply(struct profile *profile);

#endif

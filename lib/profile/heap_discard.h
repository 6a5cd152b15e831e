/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_HEAP_DISCARD_H
#define PROFC_PROFILE_HEAP_DISCARD_H

#include <stdint.h>

struct profile;

/*
 * What was recorded of memory up to a moment, and is not to be seen any more: while a recording is
 * made its rows stay, as others refer to them by their numbers, and what has to go is noted in
 * profile.heap.discard.
 */
void heap_discard_note(struct profile *profile, uint64_t time_ns);
/*
 * Take away what was discarded: blocks, moments, and what processes had allocated by then. Of each
 * process that lived on, its memory of then stays as the first moment. To be called when no more
 * rows are added: numbers of rows change.
 */
void heap_discard_apply(struct profile *profile);

#endif

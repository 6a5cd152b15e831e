/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SNAPSHOT_SIGNAL_FRAME_H
#define PROFC_SNAPSHOT_SIGNAL_FRAME_H

#include "snapshot/snapshot.h"

/*
 * Find where the innermost signal handler of a thread on an alternate stack struck: the stack
 * pointer that the kernel keeps in the signal frame, if the copied bytes of the stack, `nr_bytes`
 * from `start`, include that frame. Its description of the alternate stack (uc_stack), which has to
 * contain it, identifies it.
 */
bool signal_frame_struck_sp(enum arch arch, const uint8_t *bytes, size_t nr_bytes, uint64_t start,
			    uint64_t *sp);

#endif

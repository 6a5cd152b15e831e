/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TRACEE_SIGNAL_FRAME_H
#define PROFC_TRACEE_SIGNAL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The kernel's struct rt_sigframe of a machine: at how many bytes from its start stand the
 * alternate stack's start and size (uc_stack), and the stack pointer of what the signal struck.
 */
struct signal_frame_layout {
	uint16_t stack_start, stack_size, sp;
	uint16_t nr_bytes;	/* up to the end of what is read */
	uint16_t below_aligned; /* that much below a multiple of 16 it begins */
};

/* Of every machine, whichever this one is. */
extern const struct signal_frame_layout signal_frame_x86_64;
extern const struct signal_frame_layout signal_frame_aarch64;

/*
 * The innermost signal frame in a copy of an alternate stack, `nr_bytes` from `start` on: by
 * what it says of the stack itself, which has to contain it. False if none is there.
 */
bool signal_frame_find(const struct signal_frame_layout *layout, const uint8_t *bytes,
		       size_t nr_bytes, uint64_t start, uint64_t *sp);

#endif

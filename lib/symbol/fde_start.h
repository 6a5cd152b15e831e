/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_FDE_START_H
#define PROFC_SYMBOL_FDE_START_H

#include <stdbool.h>
#include <stdint.h>

#include "symbol/dwarf_file.h"

/*
 * Where functions begin in a file without symbols: its unwind information has an
 * entry (FDE) for each, and a sorted index of them (LSB core 5.0, 10.6).
 */
struct fde_index {
	struct dwarf_bytes hdr, frames; /* .eh_frame_hdr and .eh_frame, borrowed */
	uint64_t hdr_address, frames_address;
};

/* The function [start, end) that holds an address; false when no entry covers it. */
bool fde_index_find(const struct fde_index *index, uint64_t address, uint64_t *start,
		    uint64_t *end);

#endif

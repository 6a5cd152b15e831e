/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address ranges, and those of DWARF entries. */
#ifndef PROFC_DWARF_DWARF_RANGE_H
#define PROFC_DWARF_DWARF_RANGE_H

#include <stddef.h>
#include <stdint.h>

#include "dwarf/dwarf_file.h"

/* [low, high) of ELF virtual addresses. */
struct pc_range {
	uint64_t low, high;
};

struct range_list {
	struct pc_range *rows; /* owned */
	size_t nr, cap;
};

void range_list_release(struct range_list *list);

/*
 * Replace the content of `list` by the ranges of an entry. Empty ranges and
 * those of code that the linker dropped (address 0, or the largest ones) are
 * left out; a list that is damaged ends where the damage begins.
 */
void dwarf_read_ranges(const struct dwarf_unit *unit, const struct dwarf_pcs *pcs,
		       struct range_list *list);

/* The index of the first of nr ascending addresses that is not below `wanted`, or nr. */
size_t addresses_at_or_above(const uint64_t *addresses, size_t nr, uint64_t wanted);

#endif

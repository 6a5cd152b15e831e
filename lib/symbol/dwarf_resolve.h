/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_DWARF_RESOLVE_H
#define PROFC_SYMBOL_DWARF_RESOLVE_H

#include <stddef.h>
#include <stdint.h>

struct dwarf_file;
struct result_builder;
struct split_dwarf;

/*
 * Resolve ascending addresses from the debug information of a file, unit by unit. An address
 * without debug information keeps an empty chain; if only its line is known, its chain has a single
 * location without a name.
 */
void dwarf_resolve(struct dwarf_file *file, struct split_dwarf *split, const uint64_t *addresses,
		   size_t nr, struct result_builder *builder);

#endif

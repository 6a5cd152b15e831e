/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_DWP_H
#define PROFC_SYMBOL_DWP_H

#include <stdbool.h>

#include "base/owner.h"
#include "dwarf/dwarf_sections.h"

/*
 * A package of .dwo files (DWARF 5 section 7.3.5): the sections of all of them one after the other,
 * and an index of the parts of each section that belong to one file.
 */
struct dwp {
	int fd;
	struct Elf *elf; /* NULL: it is none */
	struct dwarf_bytes sections[DWARF_SECTION_COUNT];
	struct inflated_sections inflated;
	struct dwarf_bytes index; /* .debug_cu_index */
};

/*
 * NULL: there is no file at `path` that its chooser may read. One that is no package holds nothing.
 * symbol_options.ended.
 */
struct dwp *dwp_open(const char *path, struct owner chooser, const atomic_bool *ended);
void dwp_close(struct dwp *dwp);

/* The parts of the sections that belong to a unit; false when it is not in the package. */
bool dwp_find(const struct dwp *dwp, uint64_t dwo_id,
	      struct dwarf_bytes sections[DWARF_SECTION_COUNT]);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_DWP_H
#define PROFC_SYMBOL_DWP_H

#include <stdbool.h>

#include "base/owner.h"
#include "dwarf/dwarf_sections.h"

/*
 * A package of .dwo files (DWARF 5 section 7.3.5): the concatenated sections of all files, and an
 * index of the part of each section that belongs to each file.
 */
struct dwp {
	int fd;
	struct Elf *elf; /* NULL: the file is not a package */
	struct dwarf_bytes sections[DWARF_SECTION_COUNT];
	struct inflated_sections inflated;
	struct dwarf_bytes index; /* .debug_cu_index */
};

/*
 * Open a package. NULL: there is no file at `path` that its chooser may read. If the file is not a
 * package, the result has no units. `ended`: symbol_options.ended.
 */
struct dwp *dwp_open(const char *path, struct owner chooser, const atomic_bool *ended);
void dwp_close(struct dwp *dwp);

/* Get the parts of the sections that belong to a unit; false if the package does not have it. */
bool dwp_find(const struct dwp *dwp, uint64_t dwo_id,
	      struct dwarf_bytes sections[DWARF_SECTION_COUNT]);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_SPLIT_DWARF_H
#define PROFC_SYMBOL_SPLIT_DWARF_H

#include <stddef.h>

#include "base/owner.h"
#include "dwarf/dwarf_file.h"

struct symbol_options;

/*
 * Split DWARF (DWARF 5 section 7.3.2): the program has skeletons, units with lines and ranges but
 * without functions. The functions are in .dwo files, where the compiler left them, or in one .dwp
 * file beside the program or in a debug root. Here each split unit is a dwarf_file of its own,
 * opened when the first address needs it.
 */
struct split_dwarf {
	const struct symbol_options *options; /* borrowed */
	const char *program;		      /* path of the program; borrowed */
	struct owner owner;		      /* of all files read so far */
	struct split_unit *units;
	size_t nr, cap;
	struct index_set index;
	struct dwp *package; /* NULL: none */
	bool has_looked_for_package;
	size_t nr_missing; /* skeletons without their .dwo file */
};

void split_dwarf_init(struct split_dwarf *split, const struct symbol_options *options,
		      const char *program, struct owner owner);
void split_dwarf_release(struct split_dwarf *split);

/*
 * The unit with the functions of `unit`: for a skeleton the split unit, else the unit itself. NULL
 * if the .dwo file is missing or belongs to another build.
 */
struct dwarf_unit *split_dwarf_unit(struct split_dwarf *split, struct dwarf_unit *unit);

#endif

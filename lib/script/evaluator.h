/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_EVALUATOR_H
#define PROFC_SCRIPT_EVALUATOR_H

#include <stdbool.h>
#include <stdint.h>

struct elf_image;

/* [start, end) */
struct script_code_range {
	uint64_t start, end;
};

/*
 * Where the code of the function that evaluates, which is entered at `entry`, is: its function, and
 * the part of that which compilers put apart (.cold), for which stripped files have no symbol; an
 * empty range where it has none, or none was found. Addresses are the file's. False: the file has
 * no function that begins there.
 */
bool evaluator_find(struct elf_image *image, uint64_t entry, struct script_code_range *ranges);

#endif

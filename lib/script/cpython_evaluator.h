/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_CPYTHON_EVALUATOR_H
#define PROFC_SCRIPT_CPYTHON_EVALUATOR_H

#include <stdbool.h>
#include <stdint.h>

struct cpython_code_range;
struct elf_image;

/*
 * Where the code of the evaluator, which is entered at `entry`, is: its function, and the part of
 * that which compilers put apart (.cold), for which stripped files have no symbol; an empty range
 * where it has none, or none was found. Addresses are the file's. False: the file has no function
 * that begins there.
 */
bool cpython_evaluator_find(struct elf_image *image, uint64_t entry,
			    struct cpython_code_range *ranges);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where functions are that were written in assembly. */
#ifndef PROFC_SYMBOL_ASSEMBLY_H
#define PROFC_SYMBOL_ASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/builder.h"

struct elf_symbols;
struct symbol_object;

/*
 * The debug information of an assembler has the line of each instruction, but not where a function
 * is defined. Set that for each chain with `is_assembly`: to the line of the function's first
 * instruction. The addresses ascend.
 */
void assembly_define(struct symbol_object *object, const struct elf_symbols *symbols,
		     const uint64_t *addresses, const bool *is_assembly, size_t nr,
		     struct result_builder *builder);

#endif

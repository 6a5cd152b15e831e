/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Definitions of functions that were written in assembly. */
#ifndef PROFC_SYMBOL_ASSEMBLY_H
#define PROFC_SYMBOL_ASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/builder.h"

struct elf_symbols;
struct symbol_object;

/*
 * An assembler's debug information has the line of each instruction, but not the line of a
 * function's definition. Set it, for each chain with `is_assembly`, to the line of the function's
 * first instruction. The addresses ascend.
 */
void assembly_define(struct symbol_object *object, const struct elf_symbols *symbols,
		     const uint64_t *addresses, const bool *is_assembly, size_t nr,
		     struct result_builder *builder);

#endif

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
 * An assembler tells which lines code is of, but not where a function is defined. Set that in the
 * chains whose `is_assembly` is set, of addresses that ascend: the line of a function's first
 * instruction.
 */
void assembly_define(struct symbol_object *object, const struct elf_symbols *symbols,
		     const uint64_t *addresses, const bool *is_assembly, size_t nr,
		     struct result_builder *builder);

#endif

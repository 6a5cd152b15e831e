/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells which functions have the same code, of which only one can be shown. */
#ifndef PROFC_SYMBOL_SHARED_CODE_H
#define PROFC_SYMBOL_SHARED_CODE_H

#include <stdint.h>

#include "symbol/builder.h"

struct elf_symbols;

/*
 * Set `shared` of the outermost level of a chain, for the code at an address, to the other names of
 * its function: linkers and compilers fold functions of equal code into one. Names of one function
 * for a library's own use (__libc_write of write), and of its clones, are none of them.
 */
void shared_code_tell(struct result_builder *builder, const struct symbol_chain *chain,
		      const struct elf_symbols *symbols, uint64_t address);

#endif

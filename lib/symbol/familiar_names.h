/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives functions the names that their callers use. */
#ifndef PROFC_SYMBOL_FAMILIAR_NAMES_H
#define PROFC_SYMBOL_FAMILIAR_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "symbol/builder.h"

struct elf_symbols;

/*
 * Inside libc, write() has the name __libc_write or __GI___libc_write, also in debug information.
 * Is the name such an inner name of C, so that the symbol tables may have a better one?
 */
bool is_inner_name(const char *name);

/*
 * The name of a symbol without its version, without the mark of glibc's inner names and what marks
 * parts and clones: clock_nanosleep of clock_nanosleep@@GLIBC_2.17, f of f.cold. The same text, or
 * the pool's.
 */
const char *familiar_name(struct name_pool *pool, const char *name);

/*
 * Give the functions of a chain, for the code at an address, the names that users know, if their
 * symbols have such a name: write for __libc_write. The former name becomes the linkage name, so
 * that searches find the function by both.
 */
void familiar_names_give(struct result_builder *builder, struct symbol_chain *chain,
			 const struct elf_symbols *symbols, uint64_t address);

/*
 * Remove levels that are no calls from a chain: a compiler has divided a function and inlined one
 * part of it into the rest.
 */
void familiar_names_join_parts(struct result_builder *builder, struct symbol_chain *chain);

#endif

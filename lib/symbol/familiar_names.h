/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls functions as the code that calls them does. */
#ifndef PROFC_SYMBOL_FAMILIAR_NAMES_H
#define PROFC_SYMBOL_FAMILIAR_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "symbol/builder.h"

struct elf_symbols;

/*
 * What a library calls write() inside itself is __libc_write, or __GI___libc_write, in its debug
 * information, too. Is it such a name, of C, so that the symbol tables may know a better one?
 */
bool is_inner_name(const char *name);

/*
 * The name of a symbol without its version and without the mark of glibc's inner names:
 * clock_nanosleep of clock_nanosleep@@GLIBC_2.17. The same text, or the pool's.
 */
const char *familiar_name(struct name_pool *pool, const char *name);

/*
 * Give the functions of a chain, for the code at an address, the names that users know, if their
 * symbols have one: write for __libc_write. The former name becomes the linkage name, so that a
 * function is found by both.
 */
void familiar_names_give(struct result_builder *builder, struct symbol_chain *chain,
			 const struct elf_symbols *symbols, uint64_t address);

/*
 * Take levels out of a chain that a compiler has made by dividing a function and inlining a part
 * of it into the rest: there is no call of the function by itself.
 */
void familiar_names_join_parts(struct result_builder *builder, struct symbol_chain *chain);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_DWARF_PARALLEL_H
#define PROFC_SYMBOL_DWARF_PARALLEL_H

#include <stddef.h>
#include <stdint.h>

struct result_builder;
struct symbol_object;

/*
 * dwarf_resolve() over all of an object's debug information, with up to nr_threads threads if there
 * is enough to do. Each thread has readers of its own; the threads share only the bytes.
 */
void dwarf_resolve_parallel(struct symbol_object *object, const uint64_t *addresses, size_t nr,
			    size_t nr_threads, struct result_builder *builder);

#endif

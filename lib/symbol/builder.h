/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_BUILDER_H
#define PROFC_SYMBOL_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/name_pool.h"
#include "symbol/symbol.h"

/* A symbol_result in the making. */
struct result_builder {
	struct symbol_result *result;
	size_t cap_locations;
	size_t current; /* the chain being built */
	bool verbatim;	/* say line 0 where the line table does */
	/*
	 * For verbatim names of functions that have no linkage name in the debug
	 * information: that of the symbol which begins at their code, or NULL.
	 */
	const char *(*symbol_at)(void *context, uint64_t address);
	void *symbol_context;
	struct name_pool pool; /* its texts become the result's arena */
};

void result_builder_init(struct result_builder *builder, size_t nr_addresses);
/* The finished result, owned by the caller. */
struct symbol_result *result_builder_finish(struct result_builder *builder);

/* Begin the chain of an address; what it had before is forgotten. */
void result_builder_begin(struct result_builder *builder, size_t index);
/* Append a level to the chain begun last, innermost first. Texts must be the pool's. */
void result_builder_add(struct result_builder *builder, const struct symbol_location *location);

bool result_builder_is_open(const struct result_builder *builder, size_t index);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the symbol result of one module. */
#ifndef PROFC_SYMBOL_BUILDER_H
#define PROFC_SYMBOL_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/name_pool.h"
#include "symbol/types.h"

/* A result may take in so many others, each with a table of texts. */
#define RESULT_MAX_PARTS 16

/* Memory that a result's locations point into. */
struct result_texts {
	struct strtab *tables[RESULT_MAX_PARTS + 1];
	size_t nr;
};

/* A symbol_result in the making. */
struct result_builder {
	struct symbol_result *result;
	struct result_texts *texts; /* of the parts taken in; becomes the result's arena */
	size_t nr_chains, cap_locations;
	size_t current;	 /* the chain being built */
	bool verbatim;	 /* say line 0 where the line table does */
	bool only_names; /* tell no file and line of addresses */
	/*
	 * For verbatim names: if the debug information has no linkage name of a function,
	 * returns the name of the symbol that begins at its code, or NULL.
	 */
	const char *(*symbol_at)(void *context, uint64_t address);
	void *symbol_context;
	struct name_pool pool;
};

void result_builder_init(struct result_builder *builder, size_t nr_addresses);
/* The finished result, owned by the caller. */
struct symbol_result *result_builder_finish(struct result_builder *builder);

/* Begin the chain of an address anew: its former levels are dropped. */
void result_builder_begin(struct result_builder *builder, size_t index);
/* Append a level to the current chain, innermost first. Texts must belong to the pool. */
void result_builder_add(struct result_builder *builder, const struct symbol_location *location);

/* Add all of `part`; its chains become those from `first` on. Ends the part. */
void result_builder_take(struct result_builder *builder, struct result_builder *part, size_t first);

bool result_builder_is_open(const struct result_builder *builder, size_t index);

#endif

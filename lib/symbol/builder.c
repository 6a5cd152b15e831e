// SPDX-License-Identifier: GPL-2.0-or-later
/* Builds the symbol result of one module. */
#include "symbol/builder.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"

void result_builder_init(struct result_builder *builder, size_t nr_addresses)
{
	*builder = (struct result_builder){
		.result = xcalloc(1, sizeof(*builder->result)),
		.nr_chains = nr_addresses,
	};
	builder->result->chains =
		xcalloc(nr_addresses ? nr_addresses : 1, sizeof(*builder->result->chains));
	builder->texts = xcalloc(1, sizeof(*builder->texts));
	name_pool_init(&builder->pool);
}

struct symbol_result *result_builder_finish(struct result_builder *builder)
{
	struct symbol_result *result = builder->result;

	builder->texts->tables[builder->texts->nr++] = builder->pool.texts;
	builder->pool.texts = NULL;
	result->arena = builder->texts;
	name_pool_release(&builder->pool);
	*builder = (struct result_builder){.result = NULL};
	return result;
}

void result_builder_begin(struct result_builder *builder, size_t index)
{
	builder->result->chains[index] = (struct symbol_chain){
		.first = (uint32_t)builder->result->nr_locations,
	};
	builder->current = index;
}

void result_builder_add(struct result_builder *builder, const struct symbol_location *location)
{
	struct symbol_result *result = builder->result;

	ARRAY_GROW(result->locations, result->nr_locations, builder->cap_locations);
	result->locations[result->nr_locations++] = *location;
	result->chains[builder->current].nr++;
}

void result_builder_take(struct result_builder *builder, struct result_builder *part, size_t first)
{
	struct symbol_result *from = part->result;

	assert(builder->texts->nr < RESULT_MAX_PARTS && part->texts->nr == 0);
	for (size_t i = 0; i < part->nr_chains; i++) {
		result_builder_begin(builder, first + i);
		for (uint32_t k = 0; k < from->chains[i].nr; k++)
			result_builder_add(builder, &from->locations[from->chains[i].first + k]);
	}
	builder->texts->tables[builder->texts->nr++] = part->pool.texts;
	part->pool.texts = NULL;
	symbol_result_free(result_builder_finish(part));
}

bool result_builder_is_open(const struct result_builder *builder, size_t index)
{
	return builder->result->chains[index].nr == 0;
}

static void texts_free(struct result_texts *texts)
{
	for (size_t i = 0; i < texts->nr; i++)
		strtab_free(texts->tables[i]);
	free(texts);
}

void symbol_result_free(struct symbol_result *result)
{
	if (!result)
		return;
	texts_free(result->arena);
	free(result->chains);
	free(result->starts);
	free(result->locations);
	free(result->debug_path);
	free(result->problem);
	free(result);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/builder.h"

#include <stdlib.h>

#include "base/alloc.h"

void result_builder_init(struct result_builder *builder, size_t nr_addresses)
{
	*builder = (struct result_builder){
		.result = xcalloc(1, sizeof(*builder->result)),
	};
	builder->result->chains =
		xcalloc(nr_addresses ? nr_addresses : 1, sizeof(*builder->result->chains));
	name_pool_init(&builder->pool);
}

struct symbol_result *result_builder_finish(struct result_builder *builder)
{
	struct symbol_result *result = builder->result;

	result->arena = builder->pool.texts;
	builder->pool.texts = NULL;
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

bool result_builder_is_open(const struct result_builder *builder, size_t index)
{
	return builder->result->chains[index].nr == 0;
}

void symbol_result_free(struct symbol_result *result)
{
	if (!result)
		return;
	strtab_free(result->arena);
	free(result->chains);
	free(result->starts);
	free(result->locations);
	free(result->debug_path);
	free(result->problem);
	free(result);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Decides whether addresses are in certain code. */
#include "mapping/code_filter.h"

#include <stdlib.h>

#include "base/alloc.h"

struct module_ranges {
	bool is_asked;
	const struct code_range *at; /* borrowed */
	size_t nr;
};

struct code_filter {
	struct code_filter_options options;
	const struct module_table *table;
	struct module_ranges *modules; /* owned; by module_id */
	size_t nr_modules, cap_modules;
};

struct code_filter *code_filter_new(const struct code_filter_options *options,
				    const struct module_table *modules)
{
	struct code_filter *filter = xcalloc(1, sizeof(*filter));

	filter->options = *options;
	filter->table = modules;
	return filter;
}

void code_filter_free(struct code_filter *filter)
{
	if (!filter)
		return;
	free(filter->modules);
	free(filter);
}

static const struct module_ranges *ranges_of(struct code_filter *filter, struct module_id id)
{
	struct module_ranges *ranges;

	while (filter->nr_modules <= id.v) {
		ARRAY_GROW(filter->modules, filter->nr_modules, filter->cap_modules);
		filter->modules[filter->nr_modules++] = (struct module_ranges){.nr = 0};
	}
	ranges = &filter->modules[id.v];
	if (!ranges->is_asked)
		ranges->at = filter->options.find(filter->options.context,
						  module_table_get(filter->table, id), &ranges->nr);
	ranges->is_asked = true;
	return ranges;
}

bool code_filter_has(struct code_filter *filter, struct code_address where)
{
	const struct module_ranges *ranges = ranges_of(filter, where.module);

	for (size_t i = 0; i < ranges->nr; i++) {
		if (where.address >= ranges->at[i].start && where.address < ranges->at[i].end)
			return true;
	}
	return false;
}

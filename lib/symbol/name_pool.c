// SPDX-License-Identifier: GPL-2.0-or-later
/* Interns the texts of a symbol result, and demangles each name once. */
#include "symbol/name_pool.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "symbol/demangle.h"

void name_pool_init(struct name_pool *pool)
{
	*pool = (struct name_pool){.texts = strtab_new()};
}

void name_pool_release(struct name_pool *pool)
{
	strtab_free(pool->texts);
	free(pool->demangled);
	*pool = (struct name_pool){.texts = NULL};
}

const char *name_pool_keep(struct name_pool *pool, const char *text)
{
	return text ? strtab_get(pool->texts, strtab_intern(pool->texts, text)) : NULL;
}

const char *name_pool_demangle(struct name_pool *pool, const char *linkage_name)
{
	struct str_id id = strtab_intern(pool->texts, linkage_name);
	cleanup_free char *demangled = NULL;

	ARRAY_RESERVE(pool->demangled, (size_t)id.v + 1, pool->cap_demangled);
	while (pool->nr_demangled <= id.v)
		pool->demangled[pool->nr_demangled++] = NULL;
	if (!pool->demangled[id.v]) {
		demangled = symbol_demangle(linkage_name);
		pool->demangled[id.v] = name_pool_keep(pool, demangled);
	}
	return pool->demangled[id.v];
}

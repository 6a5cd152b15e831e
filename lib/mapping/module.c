// SPDX-License-Identifier: GPL-2.0-or-later
#include "mapping/module.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/index_set.h"

struct module_table {
	/* Modules never move: module_table_get() hands out pointers that last. */
	struct module **modules;
	size_t nr_modules, cap_modules;
	struct index_set set;
};

static bool same_module(const void *owner, uint32_t index, const void *key)
{
	const struct module_table *table = owner;
	const struct module *a = table->modules[index];
	const struct module *b = key;

	return a->kind == b->kind && a->owner_pid == b->owner_pid && a->dev == b->dev &&
	       a->inode == b->inode && a->file_bytes == b->file_bytes &&
	       a->nr_build_id_bytes == b->nr_build_id_bytes &&
	       memcmp(a->build_id, b->build_id, a->nr_build_id_bytes) == 0 &&
	       strcmp(a->path, b->path) == 0;
}

static uint64_t hash_module(const struct module *module)
{
	uint64_t hash = hash_bytes(module->path, strlen(module->path));

	hash = hash_mix(hash, module->inode);
	hash = hash_mix(hash, (uint64_t)module->kind << 32 | (uint32_t)module->owner_pid);
	return hash_mix(hash, hash_bytes(module->build_id, module->nr_build_id_bytes));
}

struct module_table *module_table_new(void)
{
	struct module_table *table = xcalloc(1, sizeof(*table));
	char unknown_path[] = "[unknown]";
	struct module unknown = {.kind = MODULE_KIND_UNKNOWN, .path = unknown_path, .fd = -1};
	struct module_id id = module_table_intern(table, &unknown);

	assert(id.v == MODULE_UNKNOWN.v);
	(void)id;
	return table;
}

void module_table_free(struct module_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->nr_modules; i++) {
		if (table->modules[i]->fd >= 0)
			close(table->modules[i]->fd);
		free(table->modules[i]->path);
		free(table->modules[i]);
	}
	free(table->modules);
	index_set_release(&table->set);
	free(table);
}

uint32_t module_table_nr(const struct module_table *table)
{
	return (uint32_t)table->nr_modules;
}

const struct module *module_table_get(const struct module_table *table, struct module_id id)
{
	assert(id.v < table->nr_modules);
	return table->modules[id.v];
}

struct module_id module_table_intern(struct module_table *table, const struct module *wanted)
{
	uint64_t hash = hash_module(wanted);
	uint32_t found = index_set_find(&table->set, hash, same_module, table, wanted);
	struct module *copy;

	assert(wanted->nr_build_id_bytes <= BUILD_ID_MAX_BYTES);
	if (found != INDEX_NONE) {
		if (wanted->fd >= 0)
			close(wanted->fd);
		return (struct module_id){found};
	}
	copy = xmemdup(wanted, sizeof(*wanted));
	copy->path = xstrdup(wanted->path);
	ARRAY_GROW(table->modules, table->nr_modules, table->cap_modules);
	table->modules[table->nr_modules] = copy;
	index_set_add(&table->set, hash, (uint32_t)table->nr_modules);
	return (struct module_id){(uint32_t)table->nr_modules++};
}

const char *module_short_name(const struct module *module)
{
	const char *slash = strrchr(module->path, '/');

	if (module->path[0] == '[' || !slash || !slash[1])
		return module->path;
	return slash + 1;
}

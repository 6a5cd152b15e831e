// SPDX-License-Identifier: GPL-2.0-or-later
#include "mapping/module.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/index_set.h"
#include "elf/elf_image.h"
#include "mapping/module_priv.h"

struct module_entry {
	struct module module;
	struct elf_image *image;
	struct timespec written; /* the file's time of modification when it was opened */
};

struct module_table {
	struct module_entry **entries; /* each on its own: borrowed modules never move */
	size_t nr, cap;
	struct index_set index;
	struct index_set files; /* those with an image, by path, device and inode */
	size_t nr_open;
	uint32_t last_stamp;
};

static uint64_t module_hash(const struct module *module)
{
	uint64_t hash = hash_bytes(module->path, strlen(module->path));

	hash = hash_mix(hash, (uint64_t)module->kind << 32 | (uint32_t)module->owner_pid);
	hash = hash_mix(hash, module->dev);
	hash = hash_mix(hash, module->inode);
	hash = hash_mix(hash, module->file_bytes);
	return hash_mix(hash, hash_bytes(module->build_id, module->nr_build_id_bytes));
}

static bool module_equal(const void *owner, uint32_t index, const void *key)
{
	const struct module_table *table = owner;
	const struct module *a = &table->entries[index]->module;
	const struct module *b = key;

	return a->kind == b->kind && a->owner_pid == b->owner_pid && a->dev == b->dev &&
	       a->inode == b->inode && a->file_bytes == b->file_bytes &&
	       a->nr_build_id_bytes == b->nr_build_id_bytes &&
	       !memcmp(a->build_id, b->build_id, a->nr_build_id_bytes) && !strcmp(a->path, b->path);
}

struct module_table *module_table_new(void)
{
	struct module_table *table = xcalloc(1, sizeof(*table));
	struct module unknown = {.kind = MODULE_KIND_UNKNOWN, .path = xstrdup("[unknown]")};

	unknown.fd = -1;
	module_table_intern(table, &unknown);
	free(unknown.path);
	return table;
}

uint32_t module_table_next_stamp(struct module_table *table)
{
	return ++table->last_stamp;
}

void module_table_free(struct module_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->nr; i++) {
		struct module_entry *entry = table->entries[i];

		elf_image_free(entry->image);
		if (entry->module.fd >= 0)
			close(entry->module.fd);
		free(entry->module.path);
		free(entry);
	}
	free(table->entries);
	index_set_release(&table->index);
	index_set_release(&table->files);
	free(table);
}

static uint64_t file_hash(const struct module *module)
{
	return hash_mix(hash_mix(hash_bytes(module->path, strlen(module->path)), module->dev),
			module->inode);
}

static bool file_equal(const void *owner, uint32_t index, const void *key)
{
	const struct module_table *table = owner;
	const struct module *a = &table->entries[index]->module;
	const struct module *b = key;

	return a->dev == b->dev && a->inode == b->inode && !strcmp(a->path, b->path);
}

/* Written to in place, a file keeps its inode: only its descriptor can tell. */
static bool unchanged_file_equal(const void *owner, uint32_t index, const void *key)
{
	const struct module_table *table = owner;
	const struct module_entry *entry = table->entries[index];
	struct stat now;

	return file_equal(owner, index, key) && entry->module.fd >= 0 &&
	       fstat(entry->module.fd, &now) == 0 &&
	       (uint64_t)now.st_size == entry->module.file_bytes &&
	       now.st_mtim.tv_sec == entry->written.tv_sec &&
	       now.st_mtim.tv_nsec == entry->written.tv_nsec;
}

struct module_id module_table_find_file(const struct module_table *table,
					const struct module *wanted, bool must_be_unchanged)
{
	uint32_t known = index_set_find(&table->files, file_hash(wanted),
					must_be_unchanged ? unchanged_file_equal : file_equal,
					table, wanted);

	return known == INDEX_NONE ? MODULE_UNKNOWN : (struct module_id){known};
}

static void remember_file(struct module_table *table, struct module_entry *entry, uint32_t index)
{
	struct stat now;

	if (!entry->image)
		return;
	if (entry->module.fd >= 0 && fstat(entry->module.fd, &now) == 0)
		entry->written = now.st_mtim;
	index_set_add(&table->files, file_hash(&entry->module), index);
}

uint32_t module_table_nr(const struct module_table *table)
{
	return (uint32_t)table->nr;
}

const struct module *module_table_get(const struct module_table *table, struct module_id id)
{
	assert(id.v < table->nr);
	return &table->entries[id.v]->module;
}

struct elf_image *module_table_image(const struct module_table *table, struct module_id id)
{
	assert(id.v < table->nr);
	return table->entries[id.v]->image;
}

static void keep_open_or_not(struct module_table *table, struct module_entry *entry)
{
	if (entry->module.fd < 0)
		return;
	if (table->nr_open < MODULE_TABLE_FDS_MAX) {
		table->nr_open++;
		return;
	}
	if (entry->image)
		elf_image_detach(entry->image);
	close(entry->module.fd);
	entry->module.fd = -1;
}

struct module_id module_table_intern_image(struct module_table *table, const struct module *wanted,
					   struct elf_image *image)
{
	uint64_t hash = module_hash(wanted);
	uint32_t known = index_set_find(&table->index, hash, module_equal, table, wanted);
	struct module_entry *entry;

	assert(wanted->nr_build_id_bytes <= BUILD_ID_MAX_BYTES);
	if (known != INDEX_NONE) {
		elf_image_free(image);
		if (wanted->fd >= 0)
			close(wanted->fd);
		return (struct module_id){known};
	}
	entry = xcalloc(1, sizeof(*entry));
	entry->module = *wanted;
	entry->module.path = xstrdup(wanted->path);
	entry->image = image;
	ARRAY_GROW(table->entries, table->nr, table->cap);
	table->entries[table->nr] = entry;
	remember_file(table, entry, (uint32_t)table->nr);
	keep_open_or_not(table, entry);
	index_set_add(&table->index, hash, (uint32_t)table->nr);
	return (struct module_id){(uint32_t)table->nr++};
}

struct module_id module_table_intern(struct module_table *table, const struct module *wanted)
{
	return module_table_intern_image(table, wanted, NULL);
}

struct module_id module_table_numbered(struct module_table *table, struct module_id id,
				       uint32_t number)
{
	struct module wanted = *module_table_get(table, module_table_first(table, id));

	assert(wanted.kind == MODULE_KIND_JIT);
	wanted.fd = -1;
	for (int i = 0; i < 4; i++)
		wanted.build_id[i] = (uint8_t)(number >> 8 * i);
	wanted.nr_build_id_bytes = 4;
	return module_table_intern(table, &wanted);
}

struct module_id module_table_first(const struct module_table *table, struct module_id id)
{
	struct module wanted = *module_table_get(table, id);
	uint32_t known;

	if (wanted.kind != MODULE_KIND_JIT || !wanted.nr_build_id_bytes)
		return id;
	wanted.nr_build_id_bytes = 0;
	known = index_set_find(&table->index, module_hash(&wanted), module_equal, table, &wanted);
	return known == INDEX_NONE ? id : (struct module_id){known};
}

bool module_is_jitdump(const struct module *module)
{
	const char *name = module_short_name(module);
	size_t nr_digits;

	if (module->kind != MODULE_KIND_JIT || strncmp(name, "jit-", 4) != 0)
		return false;
	nr_digits = strspn(name + 4, "0123456789");
	return nr_digits && !strcmp(name + 4 + nr_digits, ".dump");
}

const char *module_short_name(const struct module *module)
{
	const char *slash = strrchr(module->path, '/');

	return module->path[0] == '/' && slash[1] ? slash + 1 : module->path;
}

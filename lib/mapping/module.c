// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of modules of a recording. */
#include "mapping/module.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/index_set.h"
#include "elf/elf_image.h"
#include "mapping/module_priv.h"
#include "proc/backing.h"

/* Limit for copies of recently modified files: enough for a program with all its plugins. */
#define COPIES_BYTES_MAX (UINT64_C(64) << 20)

struct module_entry {
	struct module module;
	struct elf_image *image;
	int source_fd;		/* the file itself, if the module's own is a copy; or -1 */
	uint64_t written_ns;	/* the file's time of modification when it was last opened */
	uint64_t found_bytes;	/* its size then */
	uint64_t same_until_ns; /* it had not been written anew by then, CLOCK_MONOTONIC */
};

struct module_table {
	struct module_entry **entries; /* each on its own: borrowed modules never move */
	size_t nr, cap;
	struct index_set index;
	struct index_set files; /* those with an image, by path, device and inode */
	size_t nr_open;
	uint64_t nr_copied_bytes;
	uint32_t last_stamp;
	struct backings backings;
};

static uint64_t module_hash(const struct module *module)
{
	uint64_t hash = hash_bytes(module->path, strlen(module->path));

	hash = hash_mix(hash, (uint64_t)module->kind << 32 | (uint32_t)module->owner_pid);
	hash = hash_mix(hash, module->dev);
	hash = hash_mix(hash, module->inode);
	hash = hash_mix(hash, module->file_bytes);
	hash = hash_mix(hash, module->image_offset);
	return hash_mix(hash, hash_bytes(module->build_id, module->nr_build_id_bytes));
}

/* A build-id suffices; without one a file written later may be another. */
static bool is_of_one_edition(const struct module *a, const struct module *b)
{
	if (a->nr_build_id_bytes != b->nr_build_id_bytes)
		return false;
	if (a->nr_build_id_bytes)
		return !memcmp(a->build_id, b->build_id, a->nr_build_id_bytes);
	return a->modified_ns == b->modified_ns && a->fingerprint == b->fingerprint;
}

static bool module_equal(const void *owner, uint32_t index, const void *key)
{
	const struct module_table *table = owner;
	const struct module *a = &table->entries[index]->module;
	const struct module *b = key;

	return a->kind == b->kind && a->owner_pid == b->owner_pid && a->dev == b->dev &&
	       a->inode == b->inode && a->file_bytes == b->file_bytes &&
	       a->image_offset == b->image_offset && is_of_one_edition(a, b) &&
	       !strcmp(a->path, b->path);
}

struct module_table *module_table_new(void)
{
	struct module_table *table = xcalloc(1, sizeof(*table));
	struct module unknown = {.kind = MODULE_KIND_UNKNOWN, .path = xstrdup("[unknown]")};

	backings_init(&table->backings);
	unknown.fd = -1;
	module_table_intern(table, &unknown);
	free(unknown.path);
	return table;
}

struct backings *module_table_backings(struct module_table *table)
{
	return &table->backings;
}

uint32_t module_table_next_stamp(struct module_table *table)
{
	return ++table->last_stamp;
}

static void close_files(struct module_entry *entry)
{
	if (entry->module.fd >= 0)
		close(entry->module.fd);
	if (entry->source_fd >= 0)
		close(entry->source_fd);
	entry->module.fd = -1;
	entry->source_fd = -1;
}

void module_table_free(struct module_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->nr; i++) {
		struct module_entry *entry = table->entries[i];

		elf_image_free(entry->image);
		close_files(entry);
		free(entry->module.path);
		free(entry);
	}
	backings_release(&table->backings);
	free(table->entries);
	index_set_release(&table->index);
	index_set_release(&table->files);
	free(table);
}

static uint64_t file_hash(const char *path, uint64_t dev, uint64_t inode)
{
	return hash_mix(hash_mix(hash_bytes(path, strlen(path)), dev), inode);
}

uint64_t module_modified_ns(const struct stat *stat)
{
	return (uint64_t)stat->st_mtim.tv_sec * NS_PER_SEC + (uint64_t)stat->st_mtim.tv_nsec;
}

static bool is_rewritten(const struct module_entry *entry, uint64_t *when_ns)
{
	int fd = entry->source_fd >= 0 ? entry->source_fd : entry->module.fd;
	struct stat now;

	if (fd < 0 || !entry->image || fstat(fd, &now) < 0 ||
	    ((uint64_t)now.st_size == entry->found_bytes &&
	     module_modified_ns(&now) == entry->written_ns))
		return false;
	/* The modification time can be set with utimensat(2), the change time cannot. */
	*when_ns = (uint64_t)now.st_ctim.tv_sec * NS_PER_SEC + (uint64_t)now.st_ctim.tv_nsec;
	return true;
}

bool module_table_is_rewritten(const struct module_table *table, struct module_id id,
			       uint64_t *when_ns)
{
	assert(id.v < table->nr);
	return is_rewritten(table->entries[id.v], when_ns);
}

bool module_table_is_outdated(const struct module_table *table, struct module_id id,
			      uint64_t time_ns)
{
	struct module_entry *entry;
	uint64_t now_ns, when_ns;

	assert(id.v < table->nr);
	entry = table->entries[id.v];
	if (!entry->module.is_copy || time_ns <= entry->same_until_ns)
		return false;
	now_ns = clock_monotonic_ns();
	if (is_rewritten(entry, &when_ns))
		return when_ns + now_ns <= time_ns + clock_realtime_ns();
	entry->same_until_ns = now_ns;
	return false;
}

static bool file_equal(const void *owner, uint32_t index, const void *key)
{
	const struct module_table *table = owner;
	const struct module_entry *entry = table->entries[index];
	const struct module_mapping *wanted = key;
	const struct module *module = &entry->module;
	uint64_t when_ns, bias;

	if (module->dev != wanted->dev || module->inode != wanted->inode ||
	    strcmp(module->path, wanted->path) != 0)
		return false;
	/* A file may contain several images: take the one that is mapped there. */
	if (wanted->file_offset < module->image_offset ||
	    !elf_image_bias(entry->image, wanted->start, wanted->file_offset - module->image_offset,
			    true, &bias))
		return false;
	return !is_rewritten(entry, &when_ns);
}

static bool open_file_equal(const void *owner, uint32_t index, const void *key)
{
	const struct module_table *table = owner;

	return table->entries[index]->module.fd >= 0 && file_equal(owner, index, key);
}

struct module_id module_table_find_file(const struct module_table *table,
					const struct module_mapping *wanted, bool must_be_unchanged)
{
	uint32_t known =
		index_set_find(&table->files, file_hash(wanted->path, wanted->dev, wanted->inode),
			       must_be_unchanged ? open_file_equal : file_equal, table, wanted);

	return known == INDEX_NONE ? MODULE_UNKNOWN : (struct module_id){known};
}

static void remember_file(struct module_table *table, const struct module_entry *entry,
			  uint32_t index)
{
	const struct module *module = &entry->module;

	if (entry->image)
		index_set_add(&table->files, file_hash(module->path, module->dev, module->inode),
			      index);
}

uint64_t module_table_copies_left(const struct module_table *table)
{
	return table->nr_copied_bytes < COPIES_BYTES_MAX ? COPIES_BYTES_MAX - table->nr_copied_bytes
							 : 0;
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
	size_t nr = (size_t)(entry->module.fd >= 0) + (size_t)(entry->source_fd >= 0);

	if (table->nr_open + nr <= MODULE_TABLE_FDS_MAX) {
		table->nr_open += nr;
		if (entry->module.is_copy)
			table->nr_copied_bytes += entry->module.file_bytes;
		return;
	}
	if (entry->image)
		elf_image_detach(entry->image);
	close_files(entry);
}

/* The file opened now contains the module again, as after building the same program again. */
static void take_file_again(struct module_entry *entry, const struct module *wanted,
			    const struct module_files *files)
{
	if (files->image) {
		entry->written_ns = wanted->modified_ns;
		entry->found_bytes = wanted->file_bytes;
	}
	elf_image_free(files->image);
	if (wanted->fd >= 0)
		close(wanted->fd);
	if (files->source_fd >= 0)
		close(files->source_fd);
}

struct module_id module_table_intern_files(struct module_table *table, const struct module *wanted,
					   const struct module_files *files)
{
	uint64_t hash = module_hash(wanted);
	uint32_t known = index_set_find(&table->index, hash, module_equal, table, wanted);
	struct module_entry *entry;

	assert(wanted->nr_build_id_bytes <= BUILD_ID_MAX_BYTES);
	if (known != INDEX_NONE) {
		take_file_again(table->entries[known], wanted, files);
		return (struct module_id){known};
	}
	entry = xcalloc(1, sizeof(*entry));
	entry->module = *wanted;
	entry->module.path = xstrdup(wanted->path);
	entry->image = files->image;
	entry->source_fd = files->source_fd;
	entry->written_ns = wanted->modified_ns;
	entry->found_bytes = wanted->file_bytes;
	ARRAY_GROW(table->entries, table->nr, table->cap);
	table->entries[table->nr] = entry;
	remember_file(table, entry, (uint32_t)table->nr);
	keep_open_or_not(table, entry);
	index_set_add(&table->index, hash, (uint32_t)table->nr);
	return (struct module_id){(uint32_t)table->nr++};
}

struct module_id module_table_intern(struct module_table *table, const struct module *wanted)
{
	static const struct module_files none = {.source_fd = -1};

	return module_table_intern_files(table, wanted, &none);
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

bool module_is_of_probes(const struct module *module)
{
	/* REGION_NAME of inject/region.h; an id of the profc that made it follows. */
	static const char prefix[] = "/memfd:profc-probes-";

	return strncmp(module->path, prefix, sizeof(prefix) - 1) == 0;
}

const char *module_short_name(const struct module *module)
{
	const char *slash = strrchr(module->path, '/');

	if (module_is_of_probes(module))
		return "[profc-probes]";
	return module->path[0] == '/' && slash[1] ? slash + 1 : module->path;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Matches the modules of two profiles. */
#include "calltree/diff_priv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/observe.h"
#include "calltree/weights.h"

/* Shorter ones may be words; git abbreviates to seven, cargo has sixteen. */
#define HASH_MIN_DIGITS 7

static const struct profile *profile_of(const struct diff_side *side, size_t run)
{
	return side->runs[run]->selection->expansion->profile;
}

const char *diff_renamed(const char *name, struct diff_rename *renames, size_t nr_renames)
{
	for (size_t i = 0; i < nr_renames; i++) {
		if (strcmp(renames[i].old_name, name) == 0) {
			renames[i].used = true;
			return renames[i].new_name;
		}
	}
	return name;
}

static void name_modules(struct diff_modules *modules, struct strtab *names,
			 struct diff_rename *renames, size_t nr_renames)
{
	size_t nr_runs = modules->side->nr;

	modules->first = xcalloc(nr_runs, sizeof(*modules->first));
	for (size_t run = 0; run < nr_runs; run++) {
		modules->first[run] = modules->nr;
		modules->nr += module_table_nr(profile_of(modules->side, run)->modules);
	}
	modules->keys = xcalloc(modules->nr, sizeof(*modules->keys));
	for (size_t run = 0; run < nr_runs; run++) {
		const struct module_table *table = profile_of(modules->side, run)->modules;
		struct str_id *keys = modules->keys + modules->first[run];

		for (uint32_t i = 0; i < module_table_nr(table); i++) {
			const struct module *module =
				module_table_get(table, (struct module_id){i});
			const char *name = module_short_name(module);

			keys[i] = strtab_intern(names, diff_renamed(name, renames, nr_renames));
		}
	}
}

void diff_modules_release(struct diff_modules *modules)
{
	free(modules->keys);
	free(modules->first);
	*modules = (struct diff_modules){0};
}

static bool has_key(const struct diff_modules *modules, struct str_id key)
{
	for (uint32_t i = 0; i < modules->nr; i++)
		if (modules->keys[i].v == key.v)
			return true;
	return false;
}

/* "bench-4e5f6a7b" is 5, "python3.11" 6, "prog" 4: the length without a hash and a version. */
static size_t stem_length(const char *name, size_t length)
{
	size_t hash = length, version = length;
	bool digit = false;

	while (hash > 0 && isxdigit((unsigned char)name[hash - 1]))
		digit |= isdigit((unsigned char)name[--hash]) != 0;
	if (digit && hash > 1 && length - hash >= HASH_MIN_DIGITS &&
	    (name[hash - 1] == '-' || name[hash - 1] == '_' || name[hash - 1] == '.'))
		return stem_length(name, hash - 1);
	while (version > 0 && (isdigit((unsigned char)name[version - 1]) ||
			       name[version - 1] == '.' || name[version - 1] == '-'))
		version--;
	return version ? version : length;
}

/* The stem of a file's name and its end without versions: "libfoo.so". */
static struct str_id stem_of(struct strtab *names, const char *name)
{
	const char *so = strstr(name, ".so");
	bool is_library = so && (so[3] == '\0' || so[3] == '.');
	struct buf stem = {0};
	struct str_id id;

	buf_append(&stem, name, stem_length(name, is_library ? (size_t)(so - name) : strlen(name)));
	if (is_library)
		buf_append_str(&stem, ".so");
	id = strtab_intern(names, buf_str(&stem));
	buf_release(&stem);
	return id;
}

static void rename_key(struct diff_modules *modules, struct str_id from, struct str_id to)
{
	for (uint32_t i = 0; i < modules->nr; i++)
		if (modules->keys[i].v == from.v)
			modules->keys[i] = to;
}

/* A module whose key has no partner on the other side. */
struct lone_module {
	struct str_id stem, key;
	bool is_new;
	uint32_t index; /* in the modules of its side */
};

static int by_key(const void *a, const void *b)
{
	uint32_t one = ((const struct str_id *)a)->v, other = ((const struct str_id *)b)->v;

	return (one > other) - (one < other);
}

static int by_stem(const void *a, const void *b)
{
	const struct lone_module *one = a, *other = b;
	int stems = by_key(&one->stem, &other->stem);

	if (stems)
		return stems;
	return one->is_new != other->is_new ? one->is_new - other->is_new
					    : by_key(&one->key, &other->key);
}

static struct str_id *sorted_keys(const struct diff_modules *modules)
{
	struct str_id *keys = xcalloc(modules->nr + 1, sizeof(*keys));

	memcpy(keys, modules->keys, modules->nr * sizeof(*keys));
	qsort(keys, modules->nr, sizeof(*keys), by_key);
	return keys;
}

/* Modules of one side only, for both sides. */
struct lone_modules {
	struct lone_module *rows; /* owned */
	size_t nr;
	struct strtab *names; /* borrowed */
};

static void add_lone(struct lone_modules *lone, const struct diff_modules *modules,
		     const struct diff_modules *others, bool is_new)
{
	cleanup_free struct str_id *keys = sorted_keys(others);

	for (uint32_t i = 1; i < modules->nr; i++) {
		struct str_id key = modules->keys[i];

		if (!bsearch(&key, keys, others->nr, sizeof(*keys), by_key))
			lone->rows[lone->nr++] = (struct lone_module){
				.stem = stem_of(lone->names, strtab_get(lone->names, key)),
				.key = key,
				.is_new = is_new,
				.index = i};
	}
}

/* A stem that one key alone has on either side makes these partners. Returns the end of its rows.
 */
static size_t match_stem(const struct lone_modules *lone, size_t begin,
			 struct diff_modules *old_modules)
{
	const struct lone_module *rows = lone->rows;
	size_t end = begin, nr_keys[2] = {0};

	for (; end < lone->nr && rows[end].stem.v == rows[begin].stem.v; end++)
		nr_keys[rows[end].is_new] += end == begin || rows[end].key.v != rows[end - 1].key.v;
	if (nr_keys[false] != 1 || nr_keys[true] != 1)
		return end;
	for (size_t i = begin; !rows[i].is_new; i++)
		old_modules->keys[rows[i].index] = rows[end - 1].key;
	return end;
}

static void match_stems(struct diff_modules *old_modules, const struct diff_modules *new_modules,
			struct strtab *names)
{
	struct lone_modules lone = {.names = names};

	lone.rows = xcalloc(old_modules->nr + new_modules->nr + 1, sizeof(*lone.rows));
	add_lone(&lone, old_modules, new_modules, false);
	add_lone(&lone, new_modules, old_modules, true);
	qsort(lone.rows, lone.nr, sizeof(*lone.rows), by_stem);
	for (size_t i = 0; i < lone.nr;)
		i = match_stem(&lone, i, old_modules);
	free(lone.rows);
}

struct path_module {
	const char *path; /* borrowed */
	size_t length;
	uint32_t module;
};

/* Files by path, the first module of each. */
struct path_modules {
	struct path_module *rows; /* owned */
	size_t nr;
};

static int by_path(const void *a, const void *b)
{
	const struct path_module *one = a, *other = b;

	if (one->length != other->length)
		return one->length < other->length ? -1 : 1;
	return memcmp(one->path, other->path, one->length);
}

static int by_path_and_module(const void *a, const void *b)
{
	const struct path_module *one = a, *other = b;
	int paths = by_path(one, other);

	return paths ? paths : (one->module > other->module) - (one->module < other->module);
}

static struct path_modules list_paths(const struct profile *profile)
{
	uint32_t nr_modules = module_table_nr(profile->modules);
	struct path_modules paths = {.rows = xcalloc(nr_modules, sizeof(*paths.rows))};
	size_t nr = 0;

	for (uint32_t i = 1; i < nr_modules; i++) {
		const struct module *module =
			module_table_get(profile->modules, (struct module_id){i});

		if (module->kind == MODULE_KIND_FILE)
			paths.rows[nr++] =
				(struct path_module){module->path, strlen(module->path), i};
	}
	qsort(paths.rows, nr, sizeof(*paths.rows), by_path_and_module);
	for (size_t i = 0; i < nr; i++)
		if (!i || by_path(&paths.rows[i], &paths.rows[paths.nr - 1]) != 0)
			paths.rows[paths.nr++] = paths.rows[i];
	return paths;
}

/* The file that a process executes; 0: it is no module. */
static uint32_t module_of_process(const struct path_modules *paths, const struct profile *profile,
				  uint32_t process)
{
	static const char deleted[] = " (deleted)";
	const char *exe = profile_str(profile, profile->processes[process].exe);
	struct path_module key = {.path = exe, .length = strlen(exe)};
	const struct path_module *found;
	size_t rest = sizeof(deleted) - 1;

	if (key.length > rest && strcmp(exe + key.length - rest, deleted) == 0)
		key.length -= rest;
	found = bsearch(&key, paths->rows, paths->nr, sizeof(*paths->rows), by_path);
	return found ? found->module : 0;
}

static uint64_t *weigh_processes(const struct weights *weights)
{
	const struct profile *profile = weights->selection->expansion->profile;
	uint64_t *by_process = xcalloc(profile->nr_processes, sizeof(*by_process));
	struct observation_walk walk;
	struct observation observation;

	observation_walk_init(&walk, weights->selection, weights->metric);
	while (observation_walk_next(&walk, &observation))
		by_process[profile->threads[observation.sample.thread.v].process] +=
			observation.weight;
	observation_walk_release(&walk);
	return by_process;
}

static void find_main(struct diff_modules *modules)
{
	const struct profile *profile = profile_of(modules->side, 0);
	uint32_t nr = module_table_nr(profile->modules);
	cleanup_free uint64_t *by_process = weigh_processes(modules->side->runs[0]);
	cleanup_free uint64_t *by_module = xcalloc(nr, sizeof(*by_module));
	struct path_modules paths = list_paths(profile);

	for (uint32_t i = 0; i < profile->nr_processes; i++)
		if (by_process[i])
			by_module[module_of_process(&paths, profile, i)] += by_process[i];
	free(paths.rows);
	modules->main = 0;
	for (uint32_t i = 1; i < nr; i++)
		if (by_module[i] > (modules->main ? by_module[modules->main] : 0))
			modules->main = i;
}

static void match_mains(struct diff_modules *old_modules, struct diff_modules *new_modules)
{
	struct str_id old_key, new_key;

	find_main(old_modules);
	find_main(new_modules);
	if (!old_modules->main || !new_modules->main)
		return;
	old_key = old_modules->keys[old_modules->main];
	new_key = new_modules->keys[new_modules->main];
	if (!has_key(new_modules, old_key) && !has_key(old_modules, new_key))
		rename_key(old_modules, old_key, new_key);
}

void diff_match_modules(struct diff_modules *old_modules, struct diff_modules *new_modules,
			struct strtab *names, struct diff_rename *renames, size_t nr_renames)
{
	name_modules(old_modules, names, renames, nr_renames);
	name_modules(new_modules, names, NULL, 0);
	match_stems(old_modules, new_modules, names);
	match_mains(old_modules, new_modules);
}

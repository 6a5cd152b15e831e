// SPDX-License-Identifier: GPL-2.0-or-later
/* Says how the machines of two recordings differ. */
#include "view/diff_machine.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/strtab.h"
#include "calltree/diff.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"
#include "view/paragraph.h"

/* Facts of a machine, each of which changes times. */
static const struct fact {
	const char *name, *key;
	size_t offset; /* of a text in struct profile_meta */
} facts[] = {
	{"processor", "cpu_model", offsetof(struct profile_meta, cpu_model)},
	{"kernel", "kernel", offsetof(struct profile_meta, kernel)},
};

/* A note names so many libraries. */
#define NR_NAMED 3

static const struct profile *profile_of(const struct diff_side *side)
{
	return side->runs[0]->selection->expansion->profile;
}

static const char *text_of(const struct profile *profile, const struct fact *fact)
{
	struct str_id id;

	memcpy(&id, (const char *)&profile->meta + fact->offset, sizeof(id));
	return profile_str(profile, id);
}

static bool is_program(const struct profile *profile, const struct module *module)
{
	return profile->nr_processes > 0 &&
	       strcmp(profile_str(profile, profile->processes[0].exe), module->path) == 0;
}

static bool is_other(const struct module *a, const struct module *b)
{
	return a->nr_build_id_bytes && b->nr_build_id_bytes &&
	       (a->nr_build_id_bytes != b->nr_build_id_bytes ||
		memcmp(a->build_id, b->build_id, a->nr_build_id_bytes) != 0);
}

/*
 * The libraries of the new side that have other contents than the file of that path on the old
 * side.
 */
struct libraries {
	const struct module **at; /* owned; borrowed from the profile */
	size_t nr;
};

/*
 * The modules of the old side by the number of their path in `paths`, which was empty. The caller
 * frees the array.
 */
static const struct module **modules_by_path(const struct profile *profile, struct strtab *paths)
{
	uint32_t nr = module_table_nr(profile->modules);
	const struct module **modules = xcalloc(nr + 1, sizeof(*modules));

	for (uint32_t i = 0; i < nr; i++) {
		const struct module *module =
			module_table_get(profile->modules, (struct module_id){i});

		if (module->kind == MODULE_KIND_FILE)
			modules[strtab_intern(paths, module->path).v] = module;
	}
	return modules;
}

static struct libraries find_libraries(const struct diff *diff)
{
	const struct profile *after = profile_of(&diff->new_side);
	struct strtab *paths = strtab_new();
	const struct module **old_ones = modules_by_path(profile_of(&diff->old_side), paths);
	uint32_t nr_paths = strtab_nr(paths), nr = module_table_nr(after->modules);
	struct libraries libraries = {.at = xcalloc(nr + 1, sizeof(*libraries.at))};

	for (uint32_t i = 0; i < nr; i++) {
		const struct module *module =
			module_table_get(after->modules, (struct module_id){i});
		struct str_id path;

		if (module->kind != MODULE_KIND_FILE || is_program(after, module))
			continue;
		path = strtab_intern(paths, module->path);
		if (path.v < nr_paths && old_ones[path.v] && is_other(module, old_ones[path.v]))
			libraries.at[libraries.nr++] = module;
	}
	free(old_ones);
	strtab_free(paths);
	return libraries;
}

static void append_separator(struct buf *out)
{
	if (out->nr_bytes)
		buf_append_str(out, "; ");
}

static void append_facts(struct buf *out, const struct diff *diff)
{
	const struct profile *before = profile_of(&diff->old_side);
	const struct profile *after = profile_of(&diff->new_side);

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		const char *old_text = text_of(before, &facts[i]);
		const char *new_text = text_of(after, &facts[i]);

		if (!*old_text || !*new_text || strcmp(old_text, new_text) == 0)
			continue;
		append_separator(out);
		buf_printf(out, "%s %s, now %s", facts[i].name, old_text, new_text);
	}
	if (before->meta.nr_cpus && after->meta.nr_cpus &&
	    before->meta.nr_cpus != after->meta.nr_cpus) {
		append_separator(out);
		buf_printf(out, "%u CPUs, now %u", before->meta.nr_cpus, after->meta.nr_cpus);
	}
}

static void append_libraries(struct buf *out, const struct diff *diff)
{
	struct libraries libraries = find_libraries(diff);

	if (libraries.nr)
		append_separator(out);
	for (size_t i = 0; i < libraries.nr && i < NR_NAMED; i++)
		buf_printf(out, "%s%s", i ? ", " : "other editions of ",
			   module_short_name(libraries.at[i]));
	if (libraries.nr > NR_NAMED)
		buf_printf(out, " and %zu more libraries", libraries.nr - NR_NAMED);
	free(libraries.at);
}

void diff_print_machines(const struct diff *diff, const struct view *view, struct sink *sink)
{
	struct buf text = {0}, shown = {0};

	append_facts(&text, diff);
	append_libraries(&text, diff);
	escape_terminal(&shown, buf_str(&text));
	if (text.nr_bytes)
		paragraph_print(view, "the machines differ: ", buf_str(&shown), sink);
	buf_release(&text);
	buf_release(&shown);
}

static void write_pair(struct json *json, const struct diff *diff, const struct fact *fact)
{
	const char *old_text = text_of(profile_of(&diff->old_side), fact);
	const char *new_text = text_of(profile_of(&diff->new_side), fact);

	if (strcmp(old_text, new_text) == 0)
		return;
	json_key_object_begin(json, fact->key);
	json_key_known_str(json, "old", old_text);
	json_key_known_str(json, "new", new_text);
	json_object_end(json);
}

void diff_write_machines(struct json *json, const struct diff *diff)
{
	uint32_t old_cpus = profile_of(&diff->old_side)->meta.nr_cpus;
	uint32_t new_cpus = profile_of(&diff->new_side)->meta.nr_cpus;
	struct libraries libraries = find_libraries(diff);

	json_key_object_begin(json, "machine");
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		write_pair(json, diff, &facts[i]);
	if (old_cpus != new_cpus) {
		json_key_object_begin(json, "cpus");
		json_key_u64(json, "old", old_cpus);
		json_key_u64(json, "new", new_cpus);
		json_object_end(json);
	}
	json_object_end(json);
	json_key_array_begin(json, "libraries");
	for (size_t i = 0; i < libraries.nr; i++)
		json_str(json, libraries.at[i]->path);
	json_array_end(json);
	free(libraries.at);
}

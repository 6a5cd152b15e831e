// SPDX-License-Identifier: GPL-2.0-or-later
/* Which libraries of a process cannot be unloaded: dlclose(3) keeps what others are linked with. */
#include "mapping/linked.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "elf/elf_image.h"
#include "elf/elf_linking.h"
#include "mapping/space.h"
#include "proc/program.h"

/* LibreOffice has some 400. */
#define LIBRARIES_MAX 1024

struct library {
	struct module_id module;
	uint64_t bias;
	uint64_t file_name; /* as elf_linking_name() */
	struct elf_linking linking;
	bool stays, is_followed;
};

struct libraries {
	struct library *at; /* owned */
	size_t nr, cap;
};

static struct library *find(const struct libraries *libraries, struct module_id module,
			    uint64_t bias)
{
	for (size_t i = 0; i < libraries->nr; i++) {
		if (libraries->at[i].module.v == module.v && libraries->at[i].bias == bias)
			return &libraries->at[i];
	}
	return NULL;
}

static void add(struct libraries *libraries, struct space *space, const struct mapping *mapping,
		uint64_t entry)
{
	const struct module *module = space_module(space, mapping);
	struct elf_image *image =
		module->kind == MODULE_KIND_FILE ? space_image(space, mapping) : NULL;
	struct library *library;

	if (!image || find(libraries, mapping->module, mapping->bias))
		return;
	ARRAY_GROW(libraries->at, libraries->nr, libraries->cap);
	library = &libraries->at[libraries->nr++];
	*library = (struct library){.module = mapping->module,
				    .bias = mapping->bias,
				    .file_name = elf_linking_name(module->path)};
	elf_linking_read(image, &library->linking);
	library->stays = library->linking.is_never_unloaded ||
			 entry == elf_image_entry(image) + mapping->bias;
}

/* Where several have this name, it is not known which one the loader has taken. */
static void keep_named(struct libraries *libraries, uint64_t name)
{
	struct library *found = NULL;

	for (size_t i = 0; i < libraries->nr; i++) {
		struct library *library = &libraries->at[i];

		if (library->file_name != name && library->linking.name != name)
			continue;
		if (found)
			return;
		found = library;
	}
	if (found)
		found->stays = true;
}

/* True: there was one with libraries that were not marked so far. */
static bool follow_one(struct libraries *libraries)
{
	for (size_t i = 0; i < libraries->nr; i++) {
		struct library *library = &libraries->at[i];

		if (!library->stays || library->is_followed)
			continue;
		library->is_followed = true;
		for (size_t k = 0; k < library->linking.nr_needed; k++)
			keep_named(libraries, library->linking.needed[k]);
		return true;
	}
	return false;
}

static bool is_in_reach(struct libraries *libraries, struct module_id module, uint64_t bias)
{
	const struct library *library = find(libraries, module, bias);

	while (library && !library->stays && follow_one(libraries))
		;
	return library && library->stays;
}

bool linked_for_good(struct space *space, struct module_id module, uint64_t bias)
{
	uint64_t entry = proc_program_entry(space_pid(space));
	struct libraries libraries = {.at = NULL};
	size_t nr = space_nr_mappings(space);
	bool stays;

	for (size_t i = 0; i < nr && entry && libraries.nr < LIBRARIES_MAX; i++) {
		const struct mapping *mapping = space_mapping_at(space, i);

		if (mapping->executable)
			add(&libraries, space, mapping, entry);
	}
	stays = libraries.nr < LIBRARIES_MAX && is_in_reach(&libraries, module, bias);
	for (size_t i = 0; i < libraries.nr; i++)
		elf_linking_release(&libraries.at[i].linking);
	free(libraries.at);
	return stays;
}

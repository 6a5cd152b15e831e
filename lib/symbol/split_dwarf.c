// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the .dwo units that belong to skeleton units. */
#include "symbol/split_dwarf.h"

#include <dwarf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "dwarf/dwarf_sections.h"
#include "elf/elf_open.h"
#include "symbol/debug_file.h"
#include "symbol/dwp.h"
#include "symbol/types.h"

/* A skeleton and its split unit. */
struct split_unit {
	const struct dwarf_unit *skeleton;
	int fd; /* -1: in the package, or not found */
	Elf *elf;
	struct inflated_sections inflated;
	struct dwarf_file *file; /* NULL: not found */
};

void split_dwarf_init(struct split_dwarf *split, const struct symbol_options *options,
		      const char *program, struct owner owner)
{
	*split = (struct split_dwarf){.options = options, .program = program, .owner = owner};
}

void split_dwarf_release(struct split_dwarf *split)
{
	for (size_t i = 0; i < split->nr; i++) {
		struct split_unit *unit = &split->units[i];

		if (unit->file)
			dwarf_file_release(unit->file);
		free(unit->file);
		elf_end(unit->elf);
		inflated_sections_release(&unit->inflated);
		if (unit->fd >= 0)
			close(unit->fd);
	}
	free(split->units);
	index_set_release(&split->index);
	dwp_close(split->package);
	*split = (struct split_dwarf){.nr = 0};
}

static bool split_unit_equal(const void *owner, uint32_t index, const void *key)
{
	const struct split_dwarf *split = owner;

	return split->units[index].skeleton == key;
}

/* Indexes do not count the headers of these sections (sections 7.26, 7.28). */
static void set_default_bases(struct dwarf_unit *unit)
{
	bool is_64_bit = unit->encoding.offset_bytes == 8;

	if (unit->encoding.version < 5)
		return;
	if (!unit->str_offsets_base)
		unit->str_offsets_base = is_64_bit ? 16 : 8;
	if (!unit->rnglists_base)
		unit->rnglists_base = is_64_bit ? 20 : 12;
}

/* Accept the sections as the split unit of `skeleton` if they belong to it. */
static struct dwarf_file *accept(const struct split_dwarf *split, struct dwarf_unit *skeleton,
				 const struct dwarf_bytes sections[DWARF_SECTION_COUNT])
{
	struct dwarf_file *file = xcalloc(1, sizeof(*file));

	dwarf_file_init(file, sections);
	file->ended = symbol_debug_ended(split->options);
	for (size_t i = 0; i < file->nr_units; i++)
		set_default_bases(&file->units[i]);
	dwarf_file_read_roots(file);
	for (size_t i = 0; i < file->nr_units; i++) {
		struct dwarf_unit *unit = &file->units[i];

		if (unit->root_tag == DW_TAG_compile_unit && unit->dwo_id == skeleton->dwo_id) {
			unit->skeleton = skeleton;
			return file;
		}
	}
	dwarf_file_release(file);
	free(file);
	return NULL;
}

static bool open_dwo_at(struct split_dwarf *split, struct split_unit *found,
			struct dwarf_unit *skeleton, const char *path)
{
	struct dwarf_bytes sections[DWARF_SECTION_COUNT];

	found->fd = open_regular_file(path, split->owner);
	if (found->fd < 0)
		return false;
	found->elf = elf_open_sections(found->fd, ELF_C_READ_MMAP_PRIVATE);
	if (found->elf && dwarf_sections_read(found->elf, true, symbol_debug_ended(split->options),
					      &found->inflated, sections))
		found->file = accept(split, skeleton, sections);
	if (found->file) {
		split->owner = owner_join(split->owner, owner_of_fd(found->fd));
		return true;
	}
	elf_end(found->elf);
	inflated_sections_release(&found->inflated);
	close(found->fd);
	found->elf = NULL;
	found->fd = -1;
	return false;
}

/* Try the compiler's path, and the program's directory in case the tree was moved. */
static void open_dwo(struct split_dwarf *split, struct split_unit *found,
		     struct dwarf_unit *skeleton)
{
	const char *sysroot = split->options->sysroot ? split->options->sysroot : "";
	const char *name = skeleton->dwo_name;
	const char *slash = strrchr(split->program, '/');
	cleanup_free char *beside = NULL, *built = NULL;

	if (name[0] == '/' || !skeleton->directory)
		built = xasprintf("%s%s", name[0] == '/' ? sysroot : "", name);
	else
		built = xasprintf("%s%s/%s", sysroot, skeleton->directory, name);
	if (open_dwo_at(split, found, skeleton, built))
		return;
	beside = xasprintf("%s%.*s%s", sysroot, slash ? (int)(slash + 1 - split->program) : 0,
			   split->program, strrchr(name, '/') ? strrchr(name, '/') + 1 : name);
	open_dwo_at(split, found, skeleton, beside);
}

/* Search beside the program, and by its name in debug roots, as gdb does. */
static struct dwp *open_package(const struct split_dwarf *split)
{
	const struct symbol_options *options = split->options;
	const char *slash = strrchr(split->program, '/');
	cleanup_free char *beside =
		xasprintf("%s%s.dwp", options->sysroot ? options->sysroot : "", split->program);
	struct dwp *package = dwp_open(beside, split->owner, symbol_debug_ended(options));
	char *root;

	for (size_t i = 0; !package && (root = debug_file_root(options, i)); i++) {
		cleanup_free char *path =
			xasprintf("%s/%s.dwp", root, slash ? slash + 1 : split->program);

		package = dwp_open(path, split->owner, symbol_debug_ended(options));
		free(root);
	}
	return package;
}

static void open_from_package(struct split_dwarf *split, struct split_unit *found,
			      struct dwarf_unit *skeleton)
{
	struct dwarf_bytes sections[DWARF_SECTION_COUNT];

	if (!split->has_looked_for_package)
		split->package = open_package(split);
	if (split->package && !split->has_looked_for_package)
		split->owner = owner_join(split->owner, owner_of_fd(split->package->fd));
	split->has_looked_for_package = true;
	if (split->package && dwp_find(split->package, skeleton->dwo_id, sections))
		found->file = accept(split, skeleton, sections);
}

static struct split_unit *find(struct split_dwarf *split, struct dwarf_unit *skeleton)
{
	struct split_unit found = {.skeleton = skeleton, .fd = -1};
	uint64_t hash = hash_u64((uintptr_t)skeleton);
	uint32_t index = index_set_find(&split->index, hash, split_unit_equal, split, skeleton);

	if (index != INDEX_NONE)
		return &split->units[index];
	open_from_package(split, &found, skeleton);
	if (!found.file)
		open_dwo(split, &found, skeleton);
	split->nr_missing += !found.file;
	ARRAY_GROW(split->units, split->nr, split->cap);
	index = (uint32_t)split->nr;
	index_set_add(&split->index, hash, index);
	split->units[split->nr++] = found;
	return &split->units[index];
}

struct dwarf_unit *split_dwarf_unit(struct split_dwarf *split, struct dwarf_unit *unit)
{
	struct dwarf_file *file;

	/* clang also marks units without a .dwo file as skeletons: they have only inlined
	 * functions. */
	if (!unit->dwo_name)
		return unit;
	if (has_ended(symbol_debug_ended(split->options)))
		return NULL;
	file = find(split, unit)->file;
	for (size_t i = 0; file && i < file->nr_units; i++) {
		if (file->units[i].skeleton)
			return &file->units[i];
	}
	return NULL;
}

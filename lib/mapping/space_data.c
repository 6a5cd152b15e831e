// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the module of variables, which are not in the mappings of code. */
#include "elf/elf_image.h"
#include "mapping/space_priv.h"

/* The mapping is the first member of its entry. */
static const struct entry *entry_at(const struct space *space, uint64_t address)
{
	return (const struct entry *)(const void *)space_find(space, address);
}

/* Bound on the mappings of a module below one of its data. */
#define PIECES_MAX 16

/*
 * The code of the file of an entry, or of one just below it: variables without content in the file
 * are in memory without a file, after the memory with one.
 */
static const struct mapping *code_below(const struct space *space, const struct entry *data)
{
	size_t index = (size_t)(data - space->entries.at);
	const struct entry *file = NULL;

	for (size_t i = 0; i <= index && i < PIECES_MAX; i++) {
		const struct entry *entry = data - i;

		if (!file && !entry->inode && *entry->path)
			return NULL; /* [heap], [stack] */
		if (!file && entry->inode)
			file = entry;
		if (!file)
			continue;
		if (entry->inode != file->inode || entry->dev != file->dev)
			return NULL;
		if (entry->mapping.executable)
			return &entry->mapping;
	}
	return NULL;
}

static bool is_in_data(const struct elf_image *image, uint64_t address)
{
	for (size_t i = 0; i < elf_image_nr_segments(image); i++) {
		const struct elf_segment *segment = elf_image_segment(image, i);

		if (!segment->executable && address >= segment->vaddr &&
		    address - segment->vaddr < segment->memory_bytes)
			return true;
	}
	return false;
}

bool space_locate_data(struct space *space, uint64_t address, struct code_address *where)
{
	const struct entry *data = entry_at(space, address);
	const struct mapping *code = data ? code_below(space, data) : NULL;
	struct elf_image *image;

	if (!code || space_module(space, code)->kind != MODULE_KIND_FILE)
		return false;
	image = space_image(space, code);
	if (!image || !is_in_data(image, address - code->bias))
		return false;
	*where = (struct code_address){.module = code->module, .address = address - code->bias};
	return true;
}

const char *space_name_at(const struct space *space, uint64_t address)
{
	const struct entry *entry = entry_at(space, address);

	return entry ? entry->path : "";
}

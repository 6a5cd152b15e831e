// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recognises program text that was copied to anonymous memory at the same address, for huge pages:
 * by node --use-largepages, Chrome, HHVM and users of iodlr.
 */
#include <string.h>

#include "elf/elf_image.h"
#include "mapping/module_priv.h"
#include "mapping/space_priv.h"

#define BLOCK_BYTES	UINT64_C(4096)
#define COMPARED_BLOCKS UINT64_C(4096)

/* The segment of code that holds vaddr, or NULL. */
static const struct elf_segment *code_at(const struct elf_image *image, uint64_t vaddr)
{
	for (size_t i = 0; i < elf_image_nr_segments(image); i++) {
		const struct elf_segment *segment = elf_image_segment(image, i);

		if (segment->executable && vaddr >= segment->vaddr &&
		    vaddr - segment->vaddr < segment->file_bytes)
			return segment;
	}
	return NULL;
}

static bool same_block(struct space *space, const struct elf_image *image, uint64_t address,
		       uint64_t vaddr)
{
	uint8_t in_memory[BLOCK_BYTES], in_file[BLOCK_BYTES];
	size_t nr = elf_image_read(image, vaddr, in_file, sizeof(in_file));

	return nr && space_read_memory(space, address, in_memory, nr) &&
	       !memcmp(in_memory, in_file, nr);
}

/* Compare all of its blocks, or for a large text some thousands at equal distances. */
static bool holds_code_of(struct space *space, const struct mapping *mapping,
			  const struct elf_image *image, uint64_t bias)
{
	const struct elf_segment *code = code_at(image, mapping->start - bias);
	uint64_t end = mapping->end, stride;

	if (end - bias > code->vaddr + code->file_bytes)
		end = code->vaddr + code->file_bytes + bias;
	stride = (end - mapping->start) / BLOCK_BYTES / COMPARED_BLOCKS * BLOCK_BYTES + BLOCK_BYTES;
	for (uint64_t at = mapping->start; at < end; at += stride) {
		if (!same_block(space, image, at, at - bias))
			return false;
	}
	return true;
}

/*
 * A page that differs from the file's may not be copied yet: a program of 40 MB takes some ms to
 * copy it.
 */
#define DOUBTS_MAX 8

static bool is_copy_of(struct space *space, struct entry *entry, const struct mapping *model)
{
	const struct elf_image *image = module_table_image(space->modules, model->module);
	struct mapping *mapping = &entry->mapping;

	if (!image || module_table_get(space->modules, model->module)->kind != MODULE_KIND_FILE ||
	    !code_at(image, mapping->start - model->bias))
		return false;
	if (!holds_code_of(space, mapping, image, model->bias)) {
		entry->doubts = DOUBTS_MAX;
		return false;
	}
	entry->doubts = 0;
	mapping->module = model->module;
	mapping->bias = model->bias;
	return true;
}

static bool holds(const struct mapping *mapping, uint64_t address)
{
	return mapping->executable && mapping->start <= address && address < mapping->end;
}

/*
 * The file with a mapping, of the start of its text or of its data, that ends where this one
 * begins.
 */
static bool find_beside(struct space *space, const struct entries *map, size_t index)
{
	struct entry *entry = &map->at[index];
	struct mapping beside;

	if (!index || !map->at[index - 1].inode ||
	    map->at[index - 1].mapping.end != entry->mapping.start)
		return false;
	beside = map->at[index - 1].mapping;
	return (beside.executable || space_find_image(space, map, index - 1, &beside)) &&
	       is_copy_of(space, entry, &beside);
}

bool space_find_copied(struct space *space, const struct entries *map, size_t index)
{
	struct entry *entry = &map->at[index];
	const struct mapping *before = space_find(space, entry->mapping.start);

	if (before && before->executable && is_copy_of(space, entry, before))
		return true;
	for (size_t i = space->former.nr; i-- > 0;) {
		const struct mapping *former = &space->former.at[i].mapping;

		if (holds(former, entry->mapping.start) && is_copy_of(space, entry, former))
			return true;
	}
	return find_beside(space, map, index);
}

bool space_settle_doubt(struct space *space, const struct entries *map, size_t index)
{
	struct entry *entry = &map->at[index];
	uint8_t left = entry->doubts;

	if (!left)
		return false;
	if (space_find_copied(space, map, index))
		return true;
	entry->doubts = (uint8_t)(left - 1);
	return false;
}

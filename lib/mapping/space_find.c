// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds modules in an address space, according to its last update. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "mapping/module_priv.h"
#include "mapping/space_priv.h"
#include "proc/range.h"
#include "proc/read.h"
#include "proc/target_memory.h"

void space_index_code(struct space *space)
{
	size_t nr = 0;

	for (size_t i = 0; i < space->entries.nr; i++)
		nr += space->entries.at[i].mapping.executable;
	if (nr > space->cap_code) {
		space->cap_code = array_grown_cap(space->cap_code, nr);
		space->code_starts =
			xrealloc_array(space->code_starts, space->cap_code, sizeof(uint64_t));
		space->code_entries =
			xrealloc_array(space->code_entries, space->cap_code, sizeof(uint32_t));
	}
	space->nr_code = 0;
	for (size_t i = 0; i < space->entries.nr; i++) {
		if (!space->entries.at[i].mapping.executable)
			continue;
		space->code_starts[space->nr_code] = space->entries.at[i].mapping.start;
		space->code_entries[space->nr_code++] = (uint32_t)i;
	}
}

bool space_same_mapping(const struct entry *a, const struct entry *b)
{
	const struct mapping *x = &a->mapping;
	const struct mapping *y = &b->mapping;

	return x->start == y->start && x->end == y->end && x->file_offset == y->file_offset &&
	       x->executable == y->executable && x->readable == y->readable &&
	       x->writable == y->writable && a->dev == b->dev && a->inode == b->inode &&
	       !strcmp(a->path, b->path);
}

/* The last of nr sorted starts that is <= address, or nr. No branch depends on the data. */
static size_t last_at_or_below(const uint64_t *starts, size_t nr, uint64_t address)
{
	const uint64_t *base = starts;
	size_t left = nr;

	if (!nr || address < starts[0])
		return nr;
	while (left > 1) {
		size_t half = left / 2;

		base += base[half] <= address ? half : 0;
		left -= half;
	}
	return (size_t)(base - starts);
}

static const struct mapping *find_code(const struct space *space, uint64_t address)
{
	size_t at = last_at_or_below(space->code_starts, space->nr_code, address);
	const struct mapping *mapping;

	if (at == space->nr_code)
		return NULL;
	mapping = &space->entries.at[space->code_entries[at]].mapping;
	return address < mapping->end ? mapping : NULL;
}

static const struct entry *find_entry(const struct space *space, uint64_t address)
{
	const struct entry *at = space->entries.at;
	size_t low = 0;
	size_t high = space->entries.nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (address < at[middle].mapping.start)
			high = middle;
		else if (address >= at[middle].mapping.end)
			low = middle + 1;
		else
			return &at[middle];
	}
	return NULL;
}

const struct mapping *space_find(const struct space *space, uint64_t address)
{
	const struct entry *entry = find_entry(space, address);

	return entry ? &entry->mapping : NULL;
}

bool space_is_of_range(const struct entry *entry, const struct proc_range *range)
{
	const struct mapping *mapping = &entry->mapping;

	return mapping->start == range->start && mapping->end == range->end &&
	       mapping->file_offset == range->offset && entry->inode == range->inode;
}

bool space_agrees(const struct space *space, const struct proc_range *range)
{
	const struct entry *entry = find_entry(space, range->start);

	return entry && space_is_of_range(entry, range);
}

bool space_is_doubtful(const struct space *space, uint64_t address)
{
	const struct entry *entry = space->nr_doubtful ? find_entry(space, address) : NULL;

	return entry && entry->doubts;
}

bool space_is_rewritten(const struct space *space, const struct entry *entry)
{
	uint64_t when_ns;

	return entry->inode &&
	       module_table_is_rewritten(space->modules, entry->mapping.module, &when_ns);
}

bool space_has_same_code(const struct space *space)
{
	cleanup_close int fd = proc_open_task_file(space->pid, space->reader, "maps");

	for (size_t i = 0; fd >= 0 && i < space->nr_code; i++) {
		const struct entry *entry = &space->entries.at[space->code_entries[i]];
		struct proc_range range;

		if (space_is_vsyscall(entry))
			continue;
		if (!proc_range_at(fd, entry->mapping.start, &range) ||
		    !space_agrees(space, &range) || space_is_rewritten(space, entry))
			return false;
	}
	return fd >= 0;
}

struct code_address space_locate(const struct space *space, uint64_t address)
{
	const struct mapping *mapping = find_code(space, address);

	if (!mapping)
		return (struct code_address){.module = MODULE_UNKNOWN, .address = address};
	return (struct code_address){.module = mapping->module, .address = address - mapping->bias};
}

const struct module *space_module(const struct space *space, const struct mapping *mapping)
{
	return module_table_get(space->modules, mapping->module);
}

struct elf_image *space_image(struct space *space, const struct mapping *mapping)
{
	return module_table_image(space->modules, mapping->module);
}

static struct target_memory *memory_of(struct space *space)
{
	if (!space->has_tried_memory)
		space->memory = target_memory_open(space->reader, NULL);
	space->has_tried_memory = true;
	return space->memory;
}

bool space_read_memory(struct space *space, uint64_t address, void *out, size_t nr_bytes)
{
	struct target_memory *memory = memory_of(space);

	return memory && target_memory_get(memory, address, out, nr_bytes);
}

void space_read_pieces(struct space *space, struct memory_piece *pieces, size_t nr)
{
	struct target_memory *memory = memory_of(space);

	for (size_t i = 0; i < nr; i++)
		pieces[i].is_read = false;
	if (memory)
		target_memory_read_pieces(memory, pieces, nr);
}

/* Code that only moves, or grows, as that of just-in-time compilers does, replaces none. */
bool space_replaces_code(const struct space *space, const struct mapping *fresh)
{
	const struct mapping *old = fresh->executable ? space_find(space, fresh->start) : NULL;

	return old && old->executable && old->module.v != fresh->module.v;
}

void space_note_change(struct space *space)
{
	space->generation++;
	space->stamp = module_table_next_stamp(space->modules);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "mapping/space_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "mapping/module_priv.h"
#include "proc/maps.h"
#include "proc/program.h"
#include "proc/range.h"
#include "proc/read.h"

/* vm.max_map_count is 65530 by default and rarely raised above a million. */
#define MAPPINGS_MAX (UINT32_C(1) << 22)

static void entries_release(struct entries *entries)
{
	for (size_t i = 0; i < entries->nr; i++)
		free(entries->at[i].path);
	free(entries->at);
	*entries = (struct entries){0};
}

struct space *space_new(struct module_table *modules, pid_t pid)
{
	struct space *space = xcalloc(1, sizeof(*space));

	space->modules = modules;
	space->pid = pid;
	space->reader = pid;
	space->memory_fd = -1;
	space->stamp = module_table_next_stamp(modules);
	return space;
}

void space_free(struct space *space)
{
	if (!space)
		return;
	if (space->memory_fd >= 0)
		close(space->memory_fd);
	entries_release(&space->entries);
	entries_release(&space->former);
	free(space->code_starts);
	free(space->code_entries);
	free(space);
}

pid_t space_pid(const struct space *space)
{
	return space->pid;
}

void space_is_of_program(struct space *space, uint64_t program)
{
	space->program = program;
}

uint32_t space_generation(const struct space *space)
{
	return space->generation;
}

uint32_t space_stamp(const struct space *space)
{
	return space->stamp;
}

uint32_t space_nr_replaced(const struct space *space)
{
	return space->nr_replaced;
}

size_t space_nr_mappings(const struct space *space)
{
	return space->entries.nr;
}

const struct mapping *space_mapping_at(const struct space *space, size_t index)
{
	return &space->entries.at[index].mapping;
}

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

struct space *space_fork(const struct space *space, pid_t pid)
{
	struct space *child = space_new(space->modules, pid);

	ARRAY_RESERVE(child->entries.at, space->entries.nr, child->entries.cap);
	for (size_t i = 0; i < space->entries.nr; i++) {
		child->entries.at[i] = space->entries.at[i];
		child->entries.at[i].path = xstrdup(space->entries.at[i].path);
	}
	child->entries.nr = space->entries.nr;
	child->generation = space->generation;
	space_index_code(child);
	return child;
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

/* Does the kernel's name for a mapping stand in brackets? Only those without a file have one. */
static bool is_named(const struct proc_map *map, const char *name)
{
	return !map->inode && map->nr_path_bytes == strlen(name) &&
	       !memcmp(map->path, name, map->nr_path_bytes);
}

/*
 * The kernel writes " (deleted)" behind the name of a file that has it no longer, and a newline in
 * one as \012. Names may have either of their own, which the file under that name tells.
 */
static void read_name(const struct space *space, const struct proc_map *map, struct buf *scratch,
		      struct entry *entry)
{
	static const char mark[] = " (deleted)";
	struct target_file file;

	buf_clear(scratch);
	entry->deleted = proc_map_path(map, scratch);
	entry->path = xstrdup(buf_str(scratch));
	/* What memfd_create(2) made has no path; just-in-time compilers map thousands. */
	if (!map->inode || !map->executable || !strncmp(entry->path, "/memfd:", 7) ||
	    (!entry->deleted && strlen(entry->path) == map->nr_path_bytes))
		return;
	file = space_file_of(space, entry);
	if (entry->deleted)
		buf_append_str(scratch, mark);
	if (!target_file_is_at(&file, buf_str(scratch))) {
		buf_clear(scratch);
		buf_append(scratch, map->path, map->nr_path_bytes);
		if (!target_file_is_at(&file, buf_str(scratch)))
			return;
	}
	free(entry->path);
	entry->path = xstrdup(buf_str(scratch));
	entry->deleted = false;
}

static struct entry entry_of(const struct space *space, const struct proc_map *map,
			     struct buf *scratch)
{
	struct entry entry = {
		.mapping = {.start = map->start,
			    .end = map->end,
			    .file_offset = map->offset,
			    .module = MODULE_UNKNOWN,
			    .executable = map->executable,
			    .readable = map->readable,
			    .writable = map->writable,
			    .is_stack = is_named(map, "[stack]")},
		.dev = makedev(map->dev_major, map->dev_minor),
		.inode = map->inode,
	};

	read_name(space, map, scratch, &entry);
	return entry;
}

static int parse_entries(const struct space *space, const char *text, size_t nr_bytes,
			 struct entries *out, struct err *err)
{
	struct proc_maps_iter iter = proc_maps_over(text, nr_bytes);
	struct buf scratch = {0};
	struct proc_map map;
	uint64_t last_end = 0;
	int more;

	while ((more = proc_maps_next(&iter, &map)) > 0) {
		if (map.start < last_end || out->nr == MAPPINGS_MAX) {
			more = ERR_CORRUPT;
			break;
		}
		last_end = map.end;
		ARRAY_GROW(out->at, out->nr, out->cap);
		out->at[out->nr++] = entry_of(space, &map, &scratch);
	}
	buf_release(&scratch);
	return more ? err_set(err, ERR_CORRUPT, "not the text of a maps file") : 0;
}

static uint64_t vdso_start(const struct entries *entries)
{
	for (size_t i = 0; i < entries->nr; i++) {
		if (space_is_vdso(&entries->at[i]))
			return entries->at[i].mapping.start;
	}
	return 0;
}

/* The kernel puts the vdso somewhere else at each exec, and nobody moves it. */
static bool is_another_program(const struct entries *old, const struct entries *fresh)
{
	uint64_t before = vdso_start(old);
	uint64_t now = vdso_start(fresh);

	return before && now && before != now;
}

/* Code that is only moved, or grows, as that of just-in-time compilers does, replaces none. */
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

static bool is_rewritten(const struct space *space, const struct entry *entry)
{
	uint64_t when_ns;

	return entry->inode &&
	       module_table_is_rewritten(space->modules, entry->mapping.module, &when_ns);
}

static void take_in(struct space *space, struct entries fresh)
{
	size_t nr_kept = 0;
	size_t nr_doubtful = 0;
	size_t old = 0;

	for (size_t i = 0; i < fresh.nr; i++) {
		struct entry *entry = &fresh.at[i];

		while (old < space->entries.nr &&
		       space->entries.at[old].mapping.start < entry->mapping.start)
			old++;
		if (old < space->entries.nr && space_same_mapping(&space->entries.at[old], entry) &&
		    !is_rewritten(space, &space->entries.at[old])) {
			entry->mapping = space->entries.at[old].mapping;
			entry->doubts = space->entries.at[old].doubts;
			space->entries.at[old].is_kept = true;
			nr_kept += !space_settle_doubt(space, &fresh, i);
			nr_doubtful += entry->doubts != 0;
			continue;
		}
		entry->mapping.generation = space->generation + 1;
		space_find_module(space, &fresh, i);
		space->nr_replaced += space_replaces_code(space, &entry->mapping);
		nr_doubtful += entry->doubts != 0;
	}
	space->nr_doubtful = nr_doubtful;
	if (nr_kept != fresh.nr || nr_kept != space->entries.nr)
		space_note_change(space);
	for (old = 0; old < space->entries.nr; old++) {
		if (!space->entries.at[old].is_kept)
			space_remember(space, &space->entries.at[old]);
	}
	entries_release(&space->entries);
	space->entries = fresh;
	space_index_code(space);
}

int space_update(struct space *space, const char *maps_text, size_t nr_bytes, struct err *err)
{
	struct entries fresh = {0};
	int status = parse_entries(space, maps_text, nr_bytes, &fresh, err);

	if (status == 0 && is_another_program(&space->entries, &fresh))
		status = err_set(err, ERR_GONE, "process %d has begun another program", space->pid);
	if (status == 0)
		take_in(space, fresh);
	else
		entries_release(&fresh);
	return status;
}

struct live_thread {
	struct buf *maps;
	pid_t tid; /* 0: none had any */
};

static bool read_thread_maps(void *context, pid_t tid)
{
	struct live_thread *live = context;

	if (!proc_read_process_file(tid, "maps", live->maps) || !live->maps->nr_bytes)
		return true;
	live->tid = tid;
	return false;
}

int space_refresh(struct space *space, struct err *err)
{
	struct buf maps = {0};
	struct live_thread live = {.maps = &maps, .tid = space->reader};
	int status;

	if (!proc_read_process_file(space->reader, "maps", &maps) || !maps.nr_bytes) {
		/* After the leader's exit only the other threads still show the memory. */
		live.tid = 0;
		proc_for_each_task(space->pid, read_thread_maps, &live);
	}
	/* What was read before that is of no later program. */
	if (live.tid && space->program && proc_program_id(space->pid, live.tid) != space->program) {
		status = err_set(err, ERR_GONE, "process %d has begun another program", space->pid);
	} else if (live.tid) {
		space->reader = live.tid;
		status = space_update(space, (const char *)maps.bytes, maps.nr_bytes, err);
	} else {
		status = err_set(err, ERR_GONE, "process %d is gone", space->pid);
	}
	buf_release(&maps);
	return status;
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

bool space_has_same_code(const struct space *space)
{
	cleanup_close int fd = proc_open_task_file(space->pid, space->reader, "maps");

	for (size_t i = 0; fd >= 0 && i < space->nr_code; i++) {
		const struct entry *entry = &space->entries.at[space->code_entries[i]];
		struct proc_range range;

		if (space_is_vsyscall(entry))
			continue;
		if (!proc_range_at(fd, entry->mapping.start, &range) ||
		    !space_agrees(space, &range) || is_rewritten(space, entry))
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

bool space_read_code(struct space *space, uint64_t address, void *out, size_t nr_bytes)
{
	if (space->memory_fd == -1) {
		char path[32];

		snprintf(path, sizeof(path), "/proc/%d/mem", space->reader);
		space->memory_fd = open(path, O_RDONLY | O_CLOEXEC);
		if (space->memory_fd < 0)
			space->memory_fd = -2;
	}
	return space->memory_fd >= 0 && address <= INT64_MAX &&
	       pread(space->memory_fd, out, nr_bytes, (off_t)address) == (ssize_t)nr_bytes;
}

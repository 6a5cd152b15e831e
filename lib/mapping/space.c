// SPDX-License-Identifier: GPL-2.0-or-later
#include "mapping/space.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "elf/elf_image.h"
#include "mapping/module_priv.h"
#include "mapping/target_file.h"
#include "proc/maps.h"
#include "proc/program.h"
#include "proc/range.h"
#include "proc/read.h"

/* vm.max_map_count is 65530 by default and rarely raised above a million. */
#define MAPPINGS_MAX   (UINT32_C(1) << 22)
#define VDSO_BYTES_MAX (UINT64_C(1) << 20)

/* A mapping and what identifies it from one maps text to the next. */
struct entry {
	struct mapping mapping;
	uint64_t dev, inode;
	char *path; /* owned */
	bool deleted;
	bool is_kept; /* it is in the next map as well */
};

struct entries {
	struct entry *at;
	size_t nr, cap;
};

/* Libraries that change places are few. */
#define FORMER_MAX 16

struct space {
	struct module_table *modules; /* borrowed */
	pid_t pid;
	uint64_t program; /* proc_program_id(); 0: not known */
	pid_t reader;	  /* a live thread of it: /proc/PID is half dead once the leader exited */
	uint32_t generation;
	uint32_t stamp;
	uint32_t nr_replaced;
	int memory_fd; /* /proc/PID/mem once it was needed; -1: not yet; -2: it cannot be had */
	struct entries entries; /* by address */
	/* The executable ones alone, for space_locate(): starts and their index in entries. */
	uint64_t *code_starts;
	uint32_t *code_entries;
	size_t nr_code, cap_code;
	struct entries former; /* code of files that has gone, the latest last */
};

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

static void index_code(struct space *space)
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
	index_code(child);
	return child;
}

/* Open what a new executable mapping shows; false where it is no ELF file that can be read. */
static struct elf_image *open_file(const struct space *space, const struct entry *entry,
				   struct module *module)
{
	const struct target_file file = {.pid = space->reader,
					 .start = entry->mapping.start,
					 .end = entry->mapping.end,
					 .dev = entry->dev,
					 .inode = entry->inode,
					 .path = entry->path};
	struct elf_image *image;

	module->fd = target_file_open(&file, &module->file_bytes);
	if (module->fd < 0)
		return NULL;
	image = elf_image_open(module->fd, NULL);
	if (image)
		return image;
	/* Readable and no ELF file: the code in it was made at run time. */
	close(module->fd);
	module->fd = -1;
	module->kind = MODULE_KIND_JIT;
	module->owner_pid = space->pid;
	return NULL;
}

static struct elf_image *open_vdso(const struct space *space, const struct entry *entry)
{
	uint64_t nr_bytes = entry->mapping.end - entry->mapping.start;
	struct elf_image *image = NULL;
	struct buf bytes = {0};

	if (nr_bytes <= VDSO_BYTES_MAX &&
	    target_memory_read(space->reader, entry->mapping.start, nr_bytes, &bytes))
		image = elf_image_open_memory(bytes.bytes, bytes.nr_bytes, NULL);
	buf_release(&bytes);
	return image;
}

static void take_build_id(struct module *module, const struct elf_image *image)
{
	const uint8_t *build_id = elf_image_build_id(image, &module->nr_build_id_bytes);

	if (build_id && module->nr_build_id_bytes <= BUILD_ID_MAX_BYTES)
		memcpy(module->build_id, build_id, module->nr_build_id_bytes);
	else
		module->nr_build_id_bytes = 0;
}

static bool is_vdso(const struct entry *entry)
{
	return !strcmp(entry->path, "[vdso]");
}

/* It has the same place in each process, and no memory map that could be asked knows of it. */
static bool is_vsyscall(const struct entry *entry)
{
	return !entry->inode && !strcmp(entry->path, "[vsyscall]");
}

static struct elf_image *describe(const struct space *space, const struct entry *entry,
				  struct module *module)
{
	*module = (struct module){.fd = -1, .path = entry->path};
	if (is_vdso(entry)) {
		module->kind = MODULE_KIND_VDSO;
		return open_vdso(space, entry);
	}
	if (is_vsyscall(entry)) {
		module->kind = MODULE_KIND_VSYSCALL;
		return NULL;
	}
	if (!entry->inode) {
		static char jit_name[] = "[jit]";

		module->kind = MODULE_KIND_JIT;
		module->owner_pid = space->pid;
		module->path = jit_name;
		return NULL;
	}
	module->kind = MODULE_KIND_FILE;
	module->deleted = entry->deleted;
	module->dev = entry->dev;
	module->inode = entry->inode;
	return open_file(space, entry, module);
}

static uint64_t bias_of(const struct mapping *mapping, const struct module *module,
			const struct elf_image *image)
{
	uint64_t bias;

	if (module->kind != MODULE_KIND_FILE && module->kind != MODULE_KIND_VDSO)
		return 0;
	if (image &&
	    elf_image_bias(image, mapping->start, mapping->file_offset, mapping->executable, &bias))
		return bias;
	/* Without its headers an address in a file can only be given as the offset in it. */
	return mapping->start - mapping->file_offset;
}

/*
 * A file that is known needs no way through the process, which may be gone
 * already: most programs are many short processes with the same libraries.
 */
static bool find_known(struct space *space, struct entry *entry, bool must_be_unchanged)
{
	struct mapping *mapping = &entry->mapping;
	const struct module wanted = {
		.path = entry->path, .dev = entry->dev, .inode = entry->inode};
	struct module_id known;

	if (!entry->inode && !is_vdso(entry))
		return false;
	known = module_table_find_file(space->modules, &wanted, must_be_unchanged);
	if (known.v == MODULE_UNKNOWN.v)
		return false;
	mapping->module = known;
	mapping->bias = bias_of(mapping, module_table_get(space->modules, known),
				module_table_image(space->modules, known));
	return true;
}

static void find_module(struct space *space, struct entry *entry)
{
	struct mapping *mapping = &entry->mapping;
	struct module module;
	struct elf_image *image;

	if (!mapping->executable || find_known(space, entry, true))
		return;
	image = describe(space, entry, &module);
	if (!image && find_known(space, entry, false))
		return;
	if (image)
		take_build_id(&module, image);
	mapping->bias = bias_of(mapping, &module, image);
	mapping->module = module_table_intern_image(space->modules, &module, image);
}

static bool same_mapping(const struct entry *a, const struct entry *b)
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

static struct entry entry_of(const struct proc_map *map, struct buf *scratch)
{
	bool deleted;

	buf_clear(scratch);
	deleted = proc_map_path(map, scratch);
	return (struct entry){
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
		.path = xstrdup(buf_str(scratch)),
		.deleted = deleted,
	};
}

static int parse_entries(const char *text, size_t nr_bytes, struct entries *out, struct err *err)
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
		out->at[out->nr++] = entry_of(&map, &scratch);
	}
	buf_release(&scratch);
	return more ? err_set(err, ERR_CORRUPT, "not the text of a maps file") : 0;
}

static uint64_t vdso_start(const struct entries *entries)
{
	for (size_t i = 0; i < entries->nr; i++) {
		if (is_vdso(&entries->at[i]))
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
static bool replaces_code(const struct space *space, const struct mapping *fresh)
{
	const struct mapping *old = fresh->executable ? space_find(space, fresh->start) : NULL;

	return old && old->executable && old->module.v != fresh->module.v;
}

static void remember(struct space *space, const struct entry *entry)
{
	struct entries *former = &space->former;

	if (!entry->mapping.executable || !entry->inode)
		return;
	for (size_t i = 0; i < former->nr; i++) {
		if (same_mapping(&former->at[i], entry))
			return;
	}
	if (former->nr == FORMER_MAX) {
		free(former->at[0].path);
		memmove(former->at, former->at + 1, --former->nr * sizeof(*former->at));
	}
	ARRAY_GROW(former->at, former->nr, former->cap);
	former->at[former->nr] = *entry;
	former->at[former->nr++].path = xstrdup(entry->path);
}

static void note_change(struct space *space)
{
	space->generation++;
	space->stamp = module_table_next_stamp(space->modules);
}

static void take_in(struct space *space, struct entries fresh)
{
	size_t nr_kept = 0;
	size_t old = 0;

	for (size_t i = 0; i < fresh.nr; i++) {
		struct entry *entry = &fresh.at[i];

		while (old < space->entries.nr &&
		       space->entries.at[old].mapping.start < entry->mapping.start)
			old++;
		if (old < space->entries.nr && same_mapping(&space->entries.at[old], entry)) {
			entry->mapping = space->entries.at[old].mapping;
			space->entries.at[old].is_kept = true;
			nr_kept++;
			continue;
		}
		entry->mapping.generation = space->generation + 1;
		find_module(space, entry);
		space->nr_replaced += replaces_code(space, &entry->mapping);
	}
	if (nr_kept != fresh.nr || nr_kept != space->entries.nr)
		note_change(space);
	for (old = 0; old < space->entries.nr; old++) {
		if (!space->entries.at[old].is_kept)
			remember(space, &space->entries.at[old]);
	}
	entries_release(&space->entries);
	space->entries = fresh;
	index_code(space);
}

int space_update(struct space *space, const char *maps_text, size_t nr_bytes, struct err *err)
{
	struct entries fresh = {0};
	int status = parse_entries(maps_text, nr_bytes, &fresh, err);

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

static bool is_of_range(const struct entry *entry, const struct proc_range *range)
{
	const struct mapping *mapping = &entry->mapping;

	return mapping->start == range->start && mapping->end == range->end &&
	       mapping->file_offset == range->offset && entry->inode == range->inode;
}

bool space_agrees(const struct space *space, const struct proc_range *range)
{
	const struct entry *entry = find_entry(space, range->start);

	return entry && is_of_range(entry, range);
}

static const struct entry *find_former(const struct space *space, const struct proc_range *range)
{
	for (size_t i = 0; i < space->former.nr; i++) {
		const struct entry *entry = &space->former.at[i];

		if (is_of_range(entry, range) &&
		    entry->dev == makedev(range->dev_major, range->dev_minor))
			return entry;
	}
	return NULL;
}

/* Takes the path of `entry` over. What is in its way goes. */
static void put_back(struct space *space, struct entry entry)
{
	struct entries *entries = &space->entries;
	size_t first = 0;
	size_t end;

	while (first < entries->nr && entries->at[first].mapping.end <= entry.mapping.start)
		first++;
	for (end = first; end < entries->nr; end++) {
		if (entries->at[end].mapping.start >= entry.mapping.end)
			break;
		remember(space, &entries->at[end]);
		free(entries->at[end].path);
	}
	ARRAY_GROW(entries->at, entries->nr, entries->cap);
	memmove(&entries->at[first + 1], &entries->at[end],
		(entries->nr - end) * sizeof(*entries->at));
	entries->nr = entries->nr - (end - first) + 1;
	entries->at[first] = entry;
}

bool space_recall(struct space *space, const struct proc_range *range)
{
	const struct entry *former;
	struct entry entry;

	if (space_agrees(space, range))
		return true;
	former = find_former(space, range);
	if (!former)
		return false;
	entry = *former;
	entry.path = xstrdup(former->path);
	note_change(space);
	entry.mapping.generation = space->generation;
	space->nr_replaced += replaces_code(space, &entry.mapping);
	put_back(space, entry);
	index_code(space);
	return true;
}

bool space_has_same_code(const struct space *space)
{
	cleanup_close int fd = proc_open_task_file(space->pid, space->reader, "maps");

	for (size_t i = 0; fd >= 0 && i < space->nr_code; i++) {
		const struct entry *entry = &space->entries.at[space->code_entries[i]];
		struct proc_range range;

		if (is_vsyscall(entry))
			continue;
		if (!proc_range_at(fd, entry->mapping.start, &range) ||
		    !space_agrees(space, &range))
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

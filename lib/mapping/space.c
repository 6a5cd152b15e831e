// SPDX-License-Identifier: GPL-2.0-or-later
/* Address spaces: updates from maps text, and lookup of addresses. */
#include "mapping/space_priv.h"

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
#include "proc/read.h"
#include "proc/target_memory.h"

/* vm.max_map_count is 65530 by default and rarely raised above a million. */
#define MAPPINGS_MAX (UINT32_C(1) << 22)

struct space *space_new(struct module_table *modules, pid_t pid)
{
	struct space *space = xcalloc(1, sizeof(*space));

	space->modules = modules;
	space->pid = pid;
	space->reader = pid;
	space->stamp = module_table_next_stamp(modules);
	return space;
}

void space_free(struct space *space)
{
	if (!space || space->nr_shares--)
		return;
	target_memory_close(space->memory);
	space_entries_release(&space->entries);
	space_entries_release(&space->former);
	free(space->code_starts);
	free(space->code_entries);
	free(space);
}

struct space *space_share(struct space *space)
{
	space->nr_shares++;
	return space;
}

bool space_is_shared(const struct space *space)
{
	return space->nr_shares > 0;
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

struct space *space_fork(struct space *space, pid_t pid)
{
	struct space *child = space_new(space->modules, pid);

	child->entries = space_entries_share(&space->entries);
	child->nr_doubtful = space->nr_doubtful;
	child->generation = space->generation;
	space_index_code(child);
	return child;
}

/*
 * Is the kernel's name for a mapping this one? Only mappings without a file have names in brackets.
 */
static bool is_named(const struct proc_map *map, const char *name)
{
	return !map->inode && map->nr_path_bytes == strlen(name) &&
	       !memcmp(map->path, name, map->nr_path_bytes);
}

/*
 * The kernel appends " (deleted)" to the path of an unlinked file, and writes a newline as \012. A
 * real name may contain either, so look for a file of that name.
 */
static void read_name(const struct space *space, const struct proc_map *map, struct buf *scratch,
		      struct entry *entry)
{
	static const char mark[] = " (deleted)";
	struct target_file file;

	buf_clear(scratch);
	entry->deleted = proc_map_path(map, scratch);
	entry->path = xstrdup(buf_str(scratch));
	/* Files of memfd_create(2) have no path; just-in-time compilers map thousands. */
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

/* The kernel places the vdso at a new address at each exec, and programs do not move it. */
static bool is_another_program(const struct entries *old, const struct entries *fresh)
{
	uint64_t before = vdso_start(old);
	uint64_t now = vdso_start(fresh);

	return before && now && before != now;
}

static void find_module(struct space *space, const struct entries *map, size_t index)
{
	struct entry *entry = &map->at[index];

	if (entry->mapping.executable && !space_find_image(space, map, index, &entry->mapping) &&
	    !space_find_copied(space, map, index))
		space_find_without_image(space, map, index);
}

static void take_in(struct space *space, struct entries fresh)
{
	bool *is_kept = xcalloc(space->entries.nr + 1, sizeof(*is_kept));
	size_t nr_kept = 0;
	size_t nr_doubtful = 0;
	bool had_doubts = space->nr_doubtful;
	size_t old = 0;

	for (size_t i = 0; i < fresh.nr; i++) {
		struct entry *entry = &fresh.at[i];

		while (old < space->entries.nr &&
		       space->entries.at[old].mapping.start < entry->mapping.start)
			old++;
		if (old < space->entries.nr && space_same_mapping(&space->entries.at[old], entry) &&
		    !space_is_rewritten(space, &space->entries.at[old])) {
			entry->mapping = space->entries.at[old].mapping;
			entry->doubts = space->entries.at[old].doubts;
			is_kept[old] = true;
			nr_kept += !space_settle_doubt(space, &fresh, i);
			nr_doubtful += entry->doubts != 0;
			continue;
		}
		entry->mapping.generation = space->generation + 1;
		find_module(space, &fresh, i);
		space->nr_replaced += space_replaces_code(space, &entry->mapping);
		nr_doubtful += entry->doubts != 0;
	}
	space->nr_doubtful = nr_doubtful;
	if (nr_kept != fresh.nr || nr_kept != space->entries.nr)
		space_note_change(space);
	for (old = 0; old < space->entries.nr; old++) {
		if (!is_kept[old])
			space_remember(space, &space->entries.at[old]);
	}
	free(is_kept);
	/* The same map: others may share it. */
	if (!had_doubts && !nr_doubtful && nr_kept == fresh.nr && nr_kept == space->entries.nr) {
		space_entries_release(&fresh);
		return;
	}
	space_entries_release(&space->entries);
	space->entries = fresh;
	space_index_code(space);
}

int space_update(struct space *space, const char *maps_text, size_t nr_bytes, struct err *err)
{
	struct entries fresh = {0};
	int status = parse_entries(space, maps_text, nr_bytes, &fresh, err);

	if (status == 0 && is_another_program(&space->entries, &fresh))
		status = err_set(err, ERR_GONE, "process %d has called execve", space->pid);
	if (status == 0)
		take_in(space, fresh);
	else
		space_entries_release(&fresh);
	return status;
}

struct live_thread {
	struct buf *maps;
	pid_t tid; /* 0: no thread had any */
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
		/*
		 * After the thread-group leader's exit only the other threads have /proc files of
		 * the memory.
		 */
		live.tid = 0;
		proc_for_each_task(space->pid, read_thread_maps, &live);
	}
	/* A map read before the execve(2) is not of the new program. */
	if (live.tid && space->program && proc_program_id(space->pid, live.tid) != space->program) {
		status = err_set(err, ERR_GONE, "process %d has called execve", space->pid);
	} else if (live.tid) {
		space->reader = live.tid;
		status = space_update(space, (const char *)maps.bytes, maps.nr_bytes, err);
	} else {
		status = err_set(err, ERR_GONE, "process %d has exited", space->pid);
	}
	buf_release(&maps);
	return status;
}

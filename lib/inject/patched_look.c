// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs that change their own code: are the patches still there? */
#include "inject/patched_look.h"

#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "inject/patched.h"
#include "inject/patched_bytes.h"
#include "inject/region.h"
#include "proc/maps.h"
#include "proc/range.h"
#include "proc/read.h"
#include "proc/target_memory.h"

#define JUMP_BYTES 5 /* of a call, too */
/* Documentation/admin-guide/mm/pagemap.rst */
#define PAGE_IS_PRESENT	 (UINT64_C(1) << 63)
#define PAGE_IS_SWAPPED	 (UINT64_C(1) << 62)
#define PAGE_IS_OF_FILE	 (UINT64_C(1) << 61) /* or of shared memory */
#define PAGE_ENTRY_BYTES sizeof(uint64_t)

bool page_is_written(pid_t pid, uint64_t address)
{
	cleanup_close int fd = proc_open_task_file(pid, pid, "pagemap");
	uint64_t entry;

	return fd >= 0 &&
	       pread(fd, &entry, sizeof(entry),
		     (off_t)(address / page_bytes() * PAGE_ENTRY_BYTES)) == sizeof(entry) &&
	       (entry & (PAGE_IS_PRESENT | PAGE_IS_SWAPPED)) && !(entry & PAGE_IS_OF_FILE);
}

struct looking {
	pid_t pid;
	struct buf maps; /* read when they are needed */
	bool has_ended;	 /* then they could not be */
};

static void need_maps(struct looking *looking)
{
	if (!looking->maps.nr_bytes && !looking->has_ended)
		looking->has_ended =
			!proc_read_process_file(looking->pid, "maps", &looking->maps) ||
			!looking->maps.nr_bytes;
}

static bool is_of_region(const struct proc_map *map)
{
	static const char prefix[] = "/memfd:" REGION_NAME;

	return map->nr_path_bytes >= strlen(prefix) &&
	       memcmp(map->path, prefix, strlen(prefix)) == 0;
}

/* Does a jump or call lead to a thunk? It is of a later patch in the same place then. */
static bool leads_to_region(struct looking *looking, const struct patch_window *patch,
			    const uint8_t *bytes)
{
	size_t at = patch->kind == PATCH_CALL_GOT ? patch->nr_bytes - JUMP_BYTES : 0;
	struct proc_maps_iter iter;
	struct proc_map map;
	int32_t distance;
	uint64_t target;

	need_maps(looking);
	iter = proc_maps_over(buf_str(&looking->maps), looking->maps.nr_bytes);
	memcpy(&distance, bytes + at + 1, sizeof(distance));
	target = patch->address + at + JUMP_BYTES + (uint64_t)(int64_t)distance;
	while (patch->nr_bytes >= JUMP_BYTES && (bytes[at] == 0xe9 || bytes[at] == 0xe8) &&
	       proc_maps_next(&iter, &map) == 1) {
		if (target >= map.start && target < map.end)
			return is_of_region(&map);
	}
	return false;
}

static enum patched_state state_of(struct looking *looking, const struct patch_window *patch,
				   const uint8_t *bytes, bool is_reached)
{

	if (!bytes)
		return PATCHED_GONE;
	if (patch_window_has(patch, patch->new, bytes))
		return is_reached ? PATCHED_OURS : PATCHED_OTHER;
	if (patch->kind == PATCH_WORD)
		return PATCHED_REPLACED;
	if (!page_is_written(looking->pid, patch->address) &&
	    !page_is_written(looking->pid, patch->address + patch->nr_bytes - 1))
		return PATCHED_GONE;
	/* The kernel has put the one byte of a static probe back, with a uprobe that was on it. */
	if (patch_window_has(patch, patch->old, bytes))
		return patch->nr_known > patch->nr_bytes ? PATCHED_REPLACED : PATCHED_AS_BEFORE;
	return leads_to_region(looking, patch, bytes) ? PATCHED_GONE : PATCHED_OTHER;
}

static bool has_patch_in(const struct patched *patched, uint64_t start, uint64_t end)
{
	size_t nr = patched_nr_up_to(patched, end - 1);
	struct patch_window last;

	/* Pointers are in data, which is writable. */
	for (; nr; nr--) {
		last = patch_table_window(&patched->patches, nr - 1);
		if (last.kind != PATCH_WORD || last.address <= start)
			return last.kind != PATCH_WORD && last.address + last.nr_bytes > start;
	}
	return false;
}

/* By the ranges alone: the text of all mappings takes four times as long. */
static bool find_writable(const struct patched *patched, struct target_memory *memory,
			  bool *is_writable)
{
	struct proc_range_walk walk;
	struct proc_range range;

	*is_writable = false;
	proc_range_walk_begin(&walk, target_memory_maps(memory), PROC_RANGE_WRITE);
	while (proc_range_walk_next(&walk, &range))
		*is_writable |= has_patch_in(patched, range.start, range.end);
	proc_range_walk_end(&walk);
	return !walk.has_failed;
}

static bool look(const struct patched *patched, pid_t pid, struct target_memory *memory,
		 bool is_stopped, uint8_t *states, bool *is_writable)
{
	struct patched_bytes *bytes = patched_bytes_new(&patched->patches, memory, is_stopped);
	struct looking looking = {.pid = pid};
	bool is_read = find_writable(patched, memory, is_writable);

	if (is_read) {
		for (size_t i = 0; i < patched->patches.nr; i++) {
			const struct patch_window patch = patch_table_window(&patched->patches, i);
			const uint8_t *at = patched_bytes_at(bytes, i);

			states[i] = (uint8_t)state_of(&looking, &patch, at,
						      at && patched_bytes_lead_to(bytes, i));
		}
	}
	buf_release(&looking.maps);
	patched_bytes_free(bytes);
	return is_read && !looking.has_ended;
}

bool patched_look(const struct patched *patched, pid_t pid, struct target_memory *memory,
		  uint8_t *states, bool *is_writable)
{
	return look(patched, pid, memory, false, states, is_writable);
}

bool patched_look_stopped(const struct patched *patched, pid_t pid, struct target_memory *memory,
			  uint8_t *states, bool *is_writable)
{
	return look(patched, pid, memory, true, states, is_writable);
}

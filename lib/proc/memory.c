// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/memory.h"

#include <string.h>

#include "base/scan.h"
#include "proc/maps.h"

#define KIB UINT64_C(1024)

/* "Label:   123 kB" at the beginning of a line. */
static bool read_kib(struct scan line, const char *label, uint64_t *bytes)
{
	size_t length = strlen(label);
	uint64_t value;

	if ((size_t)(line.end - line.at) < length || memcmp(line.at, label, length) != 0)
		return false;
	line.at += length;
	scan_blanks(&line);
	if (!scan_decimal(&line, &value) || value > UINT64_MAX / KIB)
		return false;
	*bytes = value * KIB;
	return true;
}

bool proc_memory_parse(const char *text, size_t nr_bytes, struct proc_memory *memory)
{
	struct scan all = {.at = text, .end = text + nr_bytes};
	struct proc_memory found = {0};
	struct scan line;
	bool has_any = false;

	while (scan_line(&all, &line)) {
		has_any |= read_kib(line, "RssAnon:", &found.rss_anon_bytes);
		read_kib(line, "RssFile:", &found.rss_file_bytes);
		read_kib(line, "RssShmem:", &found.rss_shmem_bytes);
		read_kib(line, "VmSwap:", &found.swap_bytes);
		read_kib(line, "VmHWM:", &found.peak_rss_bytes);
	}
	if (has_any)
		*memory = found;
	return has_any;
}

/*
 * glibc keeps the blocks of threads in reserves of this size and alignment, and makes parts of them
 * writable.
 */
#define ARENA_BYTES (UINT64_C(64) << 20)
/* Inaccessible pages at the end of a stack are not more than this; reserves are. */
#define GUARD_BYTES_MAX (UINT64_C(1) << 20)

static bool is_untouchable(const struct proc_map *map)
{
	return !map->readable && !map->writable && !map->executable && !map->inode;
}

static bool is_arena(const struct proc_map *map, const struct proc_map *next)
{
	return map->start % ARENA_BYTES == 0 && next->start == map->end && is_untouchable(next) &&
	       next->end >= map->start + ARENA_BYTES;
}

/*
 * Stacks of threads have an inaccessible page below; arenas and large blocks do not. Programs that
 * manage memory by themselves, such as those in Go or Java, reserve address space and make parts of
 * it writable with mprotect(2).
 */
static bool holds_blocks(const struct proc_map *map, const struct proc_map *before,
			 const struct proc_map *next)
{
	bool is_guarded = before->end == map->start && is_untouchable(before);
	bool is_reserve = next->start == map->end && is_untouchable(next) &&
			  next->end - next->start > GUARD_BYTES_MAX;

	if (!map->writable || map->shared || map->inode)
		return false;
	if (map->nr_path_bytes == 6 && memcmp(map->path, "[heap]", 6) == 0)
		return true;
	if (map->nr_path_bytes)
		return false;
	return is_arena(map, next) || !(is_guarded || is_reserve);
}

uint64_t proc_memory_of_heaps(const char *text, size_t nr_bytes)
{
	struct scan all = {.at = text, .end = text + nr_bytes};
	struct proc_map before = {0}, current = {0}, next;
	struct scan line;
	uint64_t sum = 0, rss_bytes = 0, bytes;

	while (scan_line(&all, &line)) {
		struct proc_maps_iter iter = proc_maps_over(line.at, (size_t)(line.end - line.at));

		if (read_kib(line, "Rss:", &bytes)) {
			rss_bytes = bytes;
		} else if (line.at < line.end && *line.at >= 'A' && *line.at <= 'Z') {
			continue;
		} else if (proc_maps_next(&iter, &next) == 1) {
			sum += holds_blocks(&current, &before, &next) ? rss_bytes : 0;
			before = current;
			current = next;
			rss_bytes = 0;
		}
	}
	next = (struct proc_map){0};
	return sum + (holds_blocks(&current, &before, &next) ? rss_bytes : 0);
}

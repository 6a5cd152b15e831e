// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/memory.h"

#include <string.h>

#include "proc/maps.h"
#include "proc/scan.h"

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
	}
	if (has_any)
		*memory = found;
	return has_any;
}

/* Stacks of threads have an inaccessible page below; arenas and large blocks do not. */
static bool holds_blocks(const struct proc_map *map, const struct proc_map *before)
{
	bool is_guarded = before->end == map->start && !before->readable && !before->writable &&
			  !before->inode;

	if (!map->writable || map->shared || map->inode)
		return false;
	if (map->nr_path_bytes == 6 && memcmp(map->path, "[heap]", 6) == 0)
		return true;
	return !map->nr_path_bytes && !is_guarded;
}

uint64_t proc_memory_of_heaps(const char *text, size_t nr_bytes)
{
	struct scan all = {.at = text, .end = text + nr_bytes};
	struct proc_map map, before = {0};
	struct scan line;
	bool counts = false;
	uint64_t sum = 0, bytes;

	while (scan_line(&all, &line)) {
		struct proc_maps_iter iter = proc_maps_over(line.at, (size_t)(line.end - line.at));

		if (read_kib(line, "Rss:", &bytes)) {
			sum += counts ? bytes : 0;
		} else if (line.at < line.end && *line.at >= 'A' && *line.at <= 'Z') {
			continue;
		} else if (proc_maps_next(&iter, &map) == 1) {
			counts = holds_blocks(&map, &before);
			before = map;
		}
	}
	return sum;
}

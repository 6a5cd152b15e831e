// SPDX-License-Identifier: GPL-2.0-or-later
/* Parser for /proc/PID/maps. */
#include "proc/maps.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scan.h"

struct proc_maps_iter proc_maps_over(const char *text, size_t nr_bytes)
{
	return (struct proc_maps_iter){.at = text, .end = text + nr_bytes};
}

static bool scan_flag(struct scan *scan, char yes, char no, bool *flag)
{
	*flag = scan_char(scan, yes);
	return *flag || scan_char(scan, no);
}

static bool scan_range(struct scan *scan, struct proc_map *map)
{
	return scan_hex(scan, &map->start) && scan_char(scan, '-') && scan_hex(scan, &map->end) &&
	       scan_char(scan, ' ') && map->start < map->end;
}

static bool scan_permissions(struct scan *scan, struct proc_map *map)
{
	return scan_flag(scan, 'r', '-', &map->readable) &&
	       scan_flag(scan, 'w', '-', &map->writable) &&
	       scan_flag(scan, 'x', '-', &map->executable) &&
	       scan_flag(scan, 's', 'p', &map->shared) && scan_char(scan, ' ');
}

static bool scan_file(struct scan *scan, struct proc_map *map)
{
	uint64_t major;
	uint64_t minor;

	if (!scan_hex(scan, &map->offset) || !scan_char(scan, ' ') || !scan_hex(scan, &major) ||
	    !scan_char(scan, ':') || !scan_hex(scan, &minor) || !scan_char(scan, ' ') ||
	    !scan_decimal(scan, &map->inode))
		return false;
	map->dev_major = (uint32_t)major;
	map->dev_minor = (uint32_t)minor;
	scan_blanks(scan);
	map->path = scan->at;
	map->nr_path_bytes = (size_t)(scan->end - scan->at);
	return true;
}

int proc_maps_next(struct proc_maps_iter *iter, struct proc_map *map)
{
	const char *newline;
	struct scan line;
	struct proc_map found = {0};

	if (iter->at >= iter->end)
		return 0;
	newline = memchr(iter->at, '\n', (size_t)(iter->end - iter->at));
	line.at = iter->at;
	line.end = newline ? newline : iter->end;
	if (!scan_range(&line, &found) || !scan_permissions(&line, &found) ||
	    !scan_file(&line, &found))
		return ERR_CORRUPT;
	iter->at = newline ? newline + 1 : iter->end;
	*map = found;
	return 1;
}

/* The kernel writes a newline in a path as \012 and leaves everything else alone (mangle_path). */
static bool escaped_newline(const char *at, size_t left)
{
	return left >= 4 && memcmp(at, "\\012", 4) == 0;
}

bool proc_map_path(const struct proc_map *map, struct buf *out)
{
	static const char deleted_mark[] = " (deleted)";
	const size_t nr_mark = sizeof(deleted_mark) - 1;
	size_t nr = map->nr_path_bytes;
	bool deleted = false;

	if (nr > nr_mark && memcmp(map->path + nr - nr_mark, deleted_mark, nr_mark) == 0) {
		nr -= nr_mark;
		deleted = true;
	}
	for (size_t i = 0; i < nr; i++) {
		if (escaped_newline(map->path + i, nr - i)) {
			buf_append_byte(out, '\n');
			i += 3;
		} else {
			buf_append_byte(out, (uint8_t)map->path[i]);
		}
	}
	return deleted;
}

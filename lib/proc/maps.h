/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROC_MAPS_H
#define PROFC_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/*
 * The lines of /proc/PID/maps (proc_pid_maps(5)), from text:
 *	55e3c4a00000-55e3c4a21000 r-xp 00002000 fd:01 131094   /usr/bin/cat
 */
struct proc_map {
	uint64_t start, end; /* [start, end) */
	uint64_t offset;     /* in the file */
	bool readable, writable, executable, shared;
	uint32_t dev_major, dev_minor;
	uint64_t inode; /* 0: no file */
	/*
	 * The rest of the line, borrowed from the text and not NUL-terminated: a path (with the
	 * kernel's escapes, and possibly " (deleted)" after it), a name in brackets, or nothing.
	 * proc_map_path() decodes it.
	 */
	const char *path;
	size_t nr_path_bytes;
};

struct proc_maps_iter {
	const char *at, *end; /* borrowed */
};

struct proc_maps_iter proc_maps_over(const char *text, size_t nr_bytes);
/* 1: *map is the next line. 0: no more. ERR_CORRUPT: the next line is not one of maps. */
int proc_maps_next(struct proc_maps_iter *iter, struct proc_map *map);

/*
 * Append the path of a map to `out` with the kernel's octal escapes undone (a newline is written as
 * \012) and without " (deleted)"; returns whether that was there. A name that really ends so is
 * ambiguous: compare the inode.
 */
bool proc_map_path(const struct proc_map *map, struct buf *out);

#endif

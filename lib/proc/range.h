/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mapping at an address of a process. */
#ifndef PROFC_PROC_RANGE_H
#define PROFC_PROC_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The bounds of a mapping of a process, [start, end), and its file. */
struct proc_range {
	uint64_t start, end;
	uint64_t offset, inode; /* of the file; 0: of none */
	uint32_t dev_major, dev_minor;
	bool readable, writable, executable, shared;
};

/*
 * The mapping of an address, through a descriptor on /proc/PID/maps. Takes a microsecond, for any
 * number of mappings; false with errno ENOTTY before Linux 6.11, ENOENT if nothing is mapped there.
 */
bool proc_range_at(int maps_fd, uint64_t address, struct proc_range *range);
/*
 * As above for any kernel, from the first 64 KiB of the text, some 700 mappings. Takes up to a
 * third of a millisecond.
 */
bool proc_range_in_text(int maps_fd, uint64_t address, struct proc_range *range);
/* Rights that mappings may have to have. */
enum proc_range_rights {
	PROC_RANGE_ANY = 0,
	PROC_RANGE_READ = 1,
	PROC_RANGE_WRITE = 2,
	PROC_RANGE_EXECUTE = 4,
};

/*
 * By the first way: the mapping of an address, or the first one above it, of those with all of
 * these rights. False: errno is ENOENT where there is none.
 */
bool proc_range_next(int maps_fd, uint64_t address, unsigned int rights, struct proc_range *range);
/* Its name in the text, in the same way. False: there is none, or it is longer. */
bool proc_range_name(int maps_fd, uint64_t address, char *name, size_t cap);
/* All mappings with some rights, in order, by the first way or from the text. */
struct proc_range_walk {
	int maps_fd; /* borrowed */
	unsigned int rights;
	uint64_t at;
	bool is_of_text; /* may be set before the first one: not by the first way */
	struct buf text;
	size_t text_at;
	bool has_failed; /* afterwards: it did not come to the last mapping */
};

void proc_range_walk_begin(struct proc_range_walk *walk, int maps_fd, unsigned int rights);
bool proc_range_walk_next(struct proc_range_walk *walk, struct proc_range *range);
void proc_range_walk_end(struct proc_range_walk *walk);

/* By the first way, or from all of the text. */
bool proc_range_find(int maps_fd, uint64_t address, struct proc_range *range);

#endif

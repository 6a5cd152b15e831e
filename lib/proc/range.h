/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mapping at an address of a process. */
#ifndef PROFC_PROC_RANGE_H
#define PROFC_PROC_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* The bounds of a mapping of a process, [start, end), and its file. */
struct proc_range {
	uint64_t start, end;
	uint64_t offset, inode; /* of the file; 0: of none */
	uint32_t dev_major, dev_minor;
	bool executable, shared;
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
/* By the first way, or from all of the text. */
bool proc_range_find(int maps_fd, uint64_t address, struct proc_range *range);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROC_MEMORY_H
#define PROFC_PROC_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory of a process as the kernel counts it, in bytes. */
struct proc_memory {
	uint64_t rss_anon_bytes, rss_file_bytes, rss_shmem_bytes, swap_bytes;
	uint64_t peak_rss_bytes; /* the most that was resident since its last exec */
};

/* Parse the text of /proc/PID/status; false: it has no memory, or is no such text. */
bool proc_memory_parse(const char *text, size_t nr_bytes, struct proc_memory *memory);
/*
 * The resident bytes of the mappings that allocators take blocks from: [heap], and private writable
 * ones without a file that are neither a stack of a thread nor parts of a reserve of the program's
 * own that mprotect(2) made writable. From the text of /proc/PID/smaps.
 */
uint64_t proc_memory_of_heaps(const char *text, size_t nr_bytes);

#endif

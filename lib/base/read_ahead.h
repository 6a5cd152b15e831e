/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_READ_AHEAD_H
#define PROFC_BASE_READ_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Many reads of few bytes, by address: the rest of the page is read with the first of them, in
 * place of a call for each. No page is read that none of them is in, unless `is_of_file`: then some
 * more pages are, which takes hardly longer.
 */
typedef size_t read_ahead_source(void *context, uint64_t address, void *out, size_t nr_bytes);

#define READ_AHEAD_PAGES 16
/* Rests of pages, and what of the next one a read ends in. Too large for a stack. */
#define READ_AHEAD_BYTES (READ_AHEAD_PAGES * 4096 + 64)

struct read_ahead {
	read_ahead_source *read; /* returns how many bytes from the address on are there */
	void *context;
	bool is_of_file;
	/* zero at first */
	uint64_t address;
	size_t nr_bytes;
	uint8_t bytes[READ_AHEAD_BYTES];
};

/* As its source does; what was read before may be as old as the structure. */
size_t read_ahead_get(struct read_ahead *ahead, uint64_t address, void *out, size_t nr_bytes);

#endif

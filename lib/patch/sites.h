/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places amid functions that get a probe. A jump is longer than what is there to be replaced, so
 * the instructions after it go to the thunk, too: nothing may lead to one of those. `branches`
 * knows of direct jumps; others go through tables, which this finds in the whole file: of distances
 * from the table, or from a label in the same function, and of addresses.
 */
#ifndef PROFC_PATCH_SITES_H
#define PROFC_PATCH_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct site_segment {
	uint64_t start, end;
	bool is_code;
};

/* A file, by ELF virtual addresses. Borrowed. */
struct site_file {
	const struct site_segment *segments;
	size_t nr_segments;
	const uint64_t *starts; /* of all functions that are known, ascending */
	size_t nr_starts;
	/* Return how many of nr are there; words are as the loader makes them. */
	size_t (*read)(void *context, uint64_t address, void *out, size_t nr_bytes);
	size_t (*words)(void *context, uint64_t address, uint64_t *out, size_t nr);
	void *context;
};

struct site {
	uint64_t address;
	const char *why; /* set: why it can have no probe, as a text for the user; or NULL */
};

/* Sets `why` of each. */
void sites_judge(const struct site_file *file, struct site *sites, size_t nr);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pads of static probes (patch/patch.h): jumps to thunks, at addresses that the program's own code
 * decides on. They are in pages of their own, wherever the process has none.
 */
#ifndef PROFC_INJECT_PADS_H
#define PROFC_INJECT_PADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PADS_PAGES_MAX 256

/* Pages with pads, in the order in which they were added. */
struct pads {
	uint64_t addresses[PADS_PAGES_MAX];
	size_t nr;
	size_t page_bytes;
	uint8_t *bytes; /* owned: of all pages */
	uint64_t *pads; /* owned: their addresses */
	size_t nr_pads, cap_pads;
	/* Owned: where the process has memory, or may soon. */
	struct pads_range {
		uint64_t start, end;
	} * taken;
	size_t nr_taken, cap_taken;
};

/* Take note of all mappings of the process. False: it has ended. */
bool pads_begin(struct pads *pads, pid_t pid);
void pads_take(struct pads *pads, uint64_t start, uint64_t end);
/*
 * Put a jump to a thunk at an address. False: that is taken, too far from the thunk, or there are
 * too many pages.
 */
bool pads_add(struct pads *pads, uint64_t address, uint64_t thunk);
void pads_release(struct pads *pads);

#endif

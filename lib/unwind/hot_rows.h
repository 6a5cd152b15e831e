/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cache of rows by pc, for frequent frames. */
#ifndef PROFC_UNWIND_HOT_ROWS_H
#define PROFC_UNWIND_HOT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/row.h"

struct unwind_frame;

/*
 * By pc in the target: the address in its module and the step to the caller, in half a cache line,
 * which avoids the search for the mapping. The common kind of row is stored in full; for other
 * kinds, only their existence. Entries may be dropped at any time: the row cache and the space have
 * the same information.
 */
enum hot_flags {
	HOT_IS_STEP = 1, /* CFA = sp or fp + cfa_offset, the return address just below */
	HOT_CFA_FROM_FP = 2,
	HOT_FP_AT_CFA = 4, /* saved at CFA + fp_offset */
	HOT_FP_LOST = 8,   /* neither: the caller has the same */
};

struct hot_row {
	uint64_t key;	/* hot_key(); 0: free */
	uint32_t stamp; /* of the space, see space_stamp() */
	uint32_t module;
	uint64_t address; /* in the module, of the frame's lookup */
	int32_t cfa_offset;
	int16_t fp_offset;
	uint8_t flags; /* enum hot_flags */
	uint8_t rule;  /* enum unwind_rule */
};

_Static_assert(sizeof(struct hot_row) == 32, "two share a cache line");

struct hot_rows {
	struct hot_row *slots; /* owned; a key has two adjacent places: a line */
	unsigned int shift;    /* of the hash; 64 - log2 of the number of lines */
	size_t nr_used;
};

void hot_rows_init(struct hot_rows *hot);
void hot_rows_release(struct hot_rows *hot);

static inline uint64_t hot_key(uint64_t pc, bool is_exact)
{
	return pc << 1 | is_exact; /* the highest bit is the kernel's: see hot_rows_add() */
}

/* The two places of a key. */
static inline struct hot_row *hot_rows_line(const struct hot_rows *hot, uint64_t key)
{
	/* Fibonacci hashing: its high bits are the good ones; even steps are broken up first. */
	return &hot->slots[((key ^ key >> 7) * UINT64_C(0x9e3779b97f4a7c15)) >> hot->shift << 1];
}

/* Borrowed until the next addition; NULL if not there. */
static inline const struct hot_row *hot_rows_find(const struct hot_rows *hot, uint64_t key,
						  uint32_t stamp)
{
	const struct hot_row *line = hot_rows_line(hot, key);

	if (line[0].key == key && line[0].stamp == stamp)
		return &line[0];
	return line[1].key == key && line[1].stamp == stamp ? &line[1] : NULL;
}

/* Remember the row of a frame. Those in the kernel's half of the addresses are never hot. */
void hot_rows_add(struct hot_rows *hot, const struct arch_regs *arch, uint32_t stamp,
		  const struct unwind_frame *frame, const struct row *row);

#endif

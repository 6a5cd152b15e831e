/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The smaller and the larger of two numbers. */
#ifndef PROFC_BASE_MINMAX_H
#define PROFC_BASE_MINMAX_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * The most that one part of a sum may be, if the sum is at most `max` and the part is `former` now:
 * half of the room that the others leave, so a disproportionate part leaves room for others.
 */
static inline uint64_t part_room(uint64_t sum, uint64_t former, uint64_t max)
{
	return (max - (sum - former)) / 2;
}

/* May the part change from `former` to `now`? */
static inline bool part_has_room(uint64_t sum, uint64_t former, uint64_t now, uint64_t max)
{
	return now == former || now <= part_room(sum, former, max);
}

#endif

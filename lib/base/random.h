/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_RANDOM_H
#define PROFC_BASE_RANDOM_H

#include <stdint.h>

/*
 * xorshift64: good enough to spread moments and to draw lots, and the same sequence for the same
 * seed. Not 0.
 */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

#endif

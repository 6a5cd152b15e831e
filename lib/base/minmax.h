/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The smaller and the larger of two numbers. */
#ifndef PROFC_BASE_MINMAX_H
#define PROFC_BASE_MINMAX_H

#include <stdint.h>

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* What recorded blocks stand for. */
#include "profile/heap.h"

#include <math.h>

static double real_size(const struct profile_allocation *row)
{
	return row->size_bytes ? (double)row->size_bytes : 1;
}

double allocation_chance(const struct profile_allocation *row)
{
	if (!row->mean_bytes)
		return 1;
	return -expm1(-real_size(row) / (double)row->mean_bytes);
}

double allocation_blocks(const struct profile_allocation *row)
{
	return (1 + (double)row->nr_more) / allocation_chance(row);
}

double allocation_bytes(const struct profile_allocation *row)
{
	return (double)row->size_bytes / allocation_chance(row);
}

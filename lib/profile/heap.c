// SPDX-License-Identifier: GPL-2.0-or-later
/* The estimates that recorded blocks represent. */
#include "profile/heap.h"

#include <math.h>

const char *allocation_kind_name(enum allocation_kind kind)
{
	switch (kind) {
	case ALLOCATION_MALLOC:
		return "malloc";
	case ALLOCATION_CALLOC:
		return "calloc";
	case ALLOCATION_REALLOC:
		return "realloc";
	case ALLOCATION_ALIGNED:
		return "aligned";
	case ALLOCATION_NEW:
		return "new";
	case ALLOCATION_MAP:
		return "map";
	case ALLOCATION_POOL:
		return "pool";
	case ALLOCATION_KIND_COUNT:
		break;
	}
	return "unknown";
}

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

// SPDX-License-Identifier: GPL-2.0-or-later
/* The library for maps_from_archive; built with -shared -fPIC -nostdlib. */
#include "self_measure.h"

uint64_t archived_entry(uint64_t x);

NOINLINE static uint64_t archived_leaf(uint64_t x)
{
	for (unsigned i = 0; i < 400000; i++)
		SPIN_STEP(x);
	return x;
}

uint64_t archived_entry(uint64_t x)
{
	return archived_leaf(x) + 1;
}

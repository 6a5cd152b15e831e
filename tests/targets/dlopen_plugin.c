// SPDX-License-Identifier: GPL-2.0-or-later
/* The library that dlopen_late loads; built with -shared -fPIC. */
#include "self_measure.h"

uint64_t plugin_work(uint64_t until_ns);

/* At a place that does not depend on the code. */
const int plugin_starts[64] = {1};

NOINLINE static uint64_t plugin_inner(uint64_t x)
{
	for (unsigned i = 0; i < 100000; i++)
		SPIN_STEP(x);
	return x;
}

uint64_t plugin_work(uint64_t until_ns)
{
	uint64_t x = 1;

	while (process_cpu_ns() < until_ns)
		x = plugin_inner(x) + 1;
	return x;
}

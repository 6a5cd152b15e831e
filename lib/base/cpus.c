// SPDX-License-Identifier: GPL-2.0-or-later
/* The number of CPUs available to this process. */
#include "base/cpus.h"

#include <sched.h>

unsigned int cpus_available(void)
{
	cpu_set_t set;

	/* Fails on machines with more CPUs than fit the set. */
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return CPU_SETSIZE;
	return CPU_COUNT(&set) > 0 ? (unsigned int)CPU_COUNT(&set) : 1;
}

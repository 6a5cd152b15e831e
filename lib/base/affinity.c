// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/affinity.h"

void affinity_unbind(pid_t tid, const cpu_set_t *allowed)
{
	cpu_set_t bound, others;

	if (sched_getaffinity(tid, sizeof(bound), &bound) == 0) {
		/* `allowed` without `bound`. */
		CPU_XOR(&others, allowed, &bound);
		CPU_AND(&others, &others, allowed);
		if (CPU_COUNT(&others))
			sched_setaffinity(tid, sizeof(others), &others);
	}
	sched_setaffinity(tid, sizeof(*allowed), allowed);
}

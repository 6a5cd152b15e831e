// SPDX-License-Identifier: GPL-2.0-or-later
/* By how much the kernel's counters of threads have advanced, and between which stacks. */
#include "profile/advances.h"

#include <stdlib.h>

#include "base/alloc.h"

void advances_release(struct profile_advances *advances)
{
	free(advances->rows);
	free(advances->charged);
	*advances = (struct profile_advances){0};
}

void advances_add(struct profile_advances *advances, const struct profile_advance *row)
{
	ARRAY_GROW(advances->rows, advances->nr, advances->cap);
	advances->rows[advances->nr++] = *row;
}

uint64_t advances_sum(const struct profile_advances *advances, enum kernel_counter counter)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < advances->nr; i++)
		if (advances->rows[i].counter == counter)
			sum += advances->rows[i].amount;
	return sum;
}

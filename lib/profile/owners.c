// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the process that has another one's exact numbers. */
#include "profile/owners.h"

#include "base/alloc.h"
#include "profile/profile.h"

uint32_t *profile_find_owners(const struct profile *profile, const bool *has_own)
{
	uint32_t *owners = xcalloc(profile->nr_processes, sizeof(*owners));

	for (uint32_t i = 0; i < profile->nr_processes; i++) {
		const struct profile_process *process = &profile->processes[i];
		uint32_t parent = process->parent;

		owners[i] = has_own[i] ? i : PROCESS_NONE;
		/* Parents come first, since they are known before their children. */
		if (!has_own[i] && parent != PROCESS_NONE &&
		    profile->processes[parent].pid != process->pid)
			owners[i] = owners[parent];
	}
	return owners;
}

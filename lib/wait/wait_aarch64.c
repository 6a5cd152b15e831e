// SPDX-License-Identifier: GPL-2.0-or-later
/* The GNU C library's record of a thread on aarch64. */
#include "wait/wait.h"

#if defined(__aarch64__)

/*
 * struct pthread has no pointer to itself. So far behind its id is the list of the robust mutexes
 * that the thread has, as set_robust_list(2) knows it: it points to itself while there are none;
 * then follows the distance from an entry of the list to its lock, which is always the same.
 */
#define LIST_BYTES    16
#define ENTRY_TO_LOCK (-32)

struct robust_mutexes {
	uint64_t first;
	int64_t entry_to_lock;
};

bool wait_is_for_thread(uint64_t address, const struct wait_memory *memory)
{
	struct robust_mutexes list;

	return memory->read(memory->context, address + LIST_BYTES, &list, sizeof(list)) &&
	       list.first == address + LIST_BYTES && list.entry_to_lock == ENTRY_TO_LOCK;
}

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* The GNU C library's record of a thread on x86-64. */
#include "wait/wait.h"

#if defined(__x86_64__)

/*
 * struct pthread: its id is at this offset; its first word points to itself, for code to find it.
 */
#define ID_BYTES 0x2d0

bool wait_is_for_thread(uint64_t address, const struct wait_memory *memory)
{
	uint64_t record = address - ID_BYTES, self;

	return memory->read(memory->context, record, &self, sizeof(self)) && self == record;
}

#endif

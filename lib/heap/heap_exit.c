// SPDX-License-Identifier: GPL-2.0-or-later
/* Lets processes go that wait at their end to be searched. */
#include "heap/heap_exit.h"

#include <stdint.h>

#include "heap/heap_shared.h"

bool heap_exit_next(const struct heap_shared *shared, struct heap_exit *exit)
{
	for (; exit->place < HEAP_EXITS; exit->place++) {
		uint64_t word = __atomic_load_n(&shared->exits[exit->place], __ATOMIC_ACQUIRE);

		exit->pid = (pid_t)(uint32_t)word;
		exit->tid = (pid_t)(word >> 32);
		if (exit->pid > 0)
			return true;
	}
	return false;
}

/* Does nothing if the process has gone by itself, and another one has the place. */
void heap_exit_let_go(struct heap_shared *shared, const struct heap_exit *exit)
{
	uint64_t word = heap_exit_word(exit->pid, exit->tid);

	__atomic_compare_exchange_n(&shared->exits[exit->place], &word, 0, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_RELAXED);
}

/*
 * A process that takes a place later sees `waits_at_exit` as 0: it checks this once it has the
 * place.
 */
void heap_exit_end(struct heap_shared *shared)
{
	__atomic_store_n(&shared->waits_at_exit, 0, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < HEAP_EXITS; i++)
		__atomic_store_n(&shared->exits[i], 0, __ATOMIC_SEQ_CST);
}

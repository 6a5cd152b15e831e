// SPDX-License-Identifier: GPL-2.0-or-later
/* Lets processes end that have waited to be searched. */
#include "probe/heap_exit.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/heap_shared.h"

bool heap_exit_next(const struct heap_shared *shared, struct heap_exit *exit)
{
	for (; exit->place < HEAP_EXITS; exit->place++) {
		exit->pid = (pid_t)__atomic_load_n(&shared->exits[exit->place], __ATOMIC_ACQUIRE);
		if (exit->pid > 0)
			return true;
	}
	return false;
}

static void wake(const uint32_t *place)
{
	syscall(SYS_futex, place, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Unless it has gone by itself, and another has come since. */
void heap_exit_let_go(struct heap_shared *shared, const struct heap_exit *exit)
{
	uint32_t *place = &shared->exits[exit->place];
	uint32_t pid = (uint32_t)exit->pid;

	if (__atomic_compare_exchange_n(place, &pid, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		wake(place);
}

/* Who takes a place later sees that nobody waits: it looks once it has it. */
void heap_exit_end(struct heap_shared *shared)
{
	__atomic_store_n(&shared->waits_at_exit, 0, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < HEAP_EXITS; i++) {
		__atomic_store_n(&shared->exits[i], 0, __ATOMIC_SEQ_CST);
		wake(&shared->exits[i]);
	}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_HEAP_HEAP_EXIT_H
#define PROFC_HEAP_HEAP_EXIT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct heap_shared;

/* Processes that are about to end, and wait in shared memory to be searched before. */
struct heap_exit {
	size_t place;	/* of HEAP_EXITS */
	pid_t pid, tid; /* as it sees itself, and its thread */
};

/* The next one that waits, at exit->place or behind it; false: there is none. */
bool heap_exit_next(const struct heap_shared *shared, struct heap_exit *exit);
/* It goes on, and ends. */
void heap_exit_let_go(struct heap_shared *shared, const struct heap_exit *exit);
/* All of them; and nobody waits from now on. */
void heap_exit_end(struct heap_shared *shared);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_HEAP_HEAP_EXIT_H
#define PROFC_HEAP_HEAP_EXIT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct heap_shared;

/* A process that is about to end, and waits in shared memory until it is searched. */
struct heap_exit {
	size_t place;	/* index, below HEAP_EXITS */
	pid_t pid, tid; /* the process and its waiting thread, in its PID namespace */
};

/* The next waiting process, at exit->place or after it; false: there is none. */
bool heap_exit_next(const struct heap_shared *shared, struct heap_exit *exit);
/* Let the process end. */
void heap_exit_let_go(struct heap_shared *shared, const struct heap_exit *exit);
/* Let all of them end; later ones do not wait. */
void heap_exit_end(struct heap_shared *shared);

#endif

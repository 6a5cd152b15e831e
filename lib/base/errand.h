/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs in a process of its own what may never end. */
#ifndef PROFC_BASE_ERRAND_H
#define PROFC_BASE_ERRAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file system that answers at all does so within this time. */
#define ERRAND_NS UINT64_C(1000000000)

/*
 * An errand reads a file, or memory that shows one, for which a program may have to answer (FUSE).
 * If that does not answer, the read never ends, and no signal ends it: not
 * even the death of profc, whose process would stay for as long as one thread of it waits. So a
 * child does it.
 *
 * Calls run(context) in a child, in a copy of our memory, where other threads may have held locks:
 * it makes system calls, and allocates nothing. What it finds it writes to a file or to memory that
 * is shared. Of our descriptors it has only `fds`, which are in ascending order. True
 * if run() returned true within `patience_ns`. Else the child is killed, or is left behind to die
 * when it has its answer.
 */
bool errand_run(bool (*run)(void *context), void *context, const int *fds, size_t nr_fds,
		uint64_t patience_ns);

#endif

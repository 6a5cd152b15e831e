/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file descriptors that a process has open. */
#ifndef PROFC_BASE_DESCRIPTORS_H
#define PROFC_BASE_DESCRIPTORS_H

#include <stddef.h>

/*
 * Closes all descriptors but `fds`, which are in ascending order. A child that runs no other
 * program calls it: a reader of our output waits until its last copy is closed, and a lock on a
 * file is held until then. Makes system calls only.
 */
void close_all_but(const int *fds, size_t nr_fds);

#endif

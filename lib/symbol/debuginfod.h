/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_DEBUGINFOD_H
#define PROFC_SYMBOL_DEBUGINFOD_H

#include <stdint.h>

struct build_id;

/*
 * Ask the debuginfod servers of the user for the debug file of a build-id.
 * Returns a descriptor of the file in the user's cache and *path, both the
 * caller's, or -1: not there, no such library, or the deadline
 * (CLOCK_MONOTONIC) has passed, which is then soon noticed.
 */
int debuginfod_fetch(const struct build_id *build_id, uint64_t deadline_ns, char **path);

#endif

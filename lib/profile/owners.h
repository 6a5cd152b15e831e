/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_OWNERS_H
#define PROFC_PROFILE_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

struct profile;

/*
 * By process: the process that has its numbers, of calls or of memory, or PROCESS_NONE. That is the
 * process itself if has_own[] is set; else the owner of its parent, since it continues the parent's
 * counters in memory after fork(). A process after execve() shares none with the one before. The
 * caller frees the array.
 */
uint32_t *profile_find_owners(const struct profile *profile, const bool *has_own);

#endif
